"""The file that the launcher starts for each rank of a script or module: puts the path right and is a spare.

It is started by path, so that it works wherever this package was copied to; the folder it lies in leaves sys.path
before anything else is imported, because its modules have common names.
"""

import os
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))
_ROOT = os.path.dirname(os.path.dirname(_HERE))

if __name__ == "__main__":
    if sys.path and sys.path[0] in (_HERE, os.getcwd()):
        del sys.path[0]
    if _ROOT not in sys.path:
        sys.path.append(_ROOT)
    from keepstep.trainer import spare

    spare.main(sys.argv[1:])

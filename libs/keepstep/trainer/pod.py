"""What a training container runs in the place of its command: ``pod.py TASK_DIRECTORY COMMAND...``.

It is started by path on whatever Python the image has, and says so where that is too old; only then is the rest read.
"""

import os
import sys

TOO_OLD = 78
"""EX_CONFIG."""

if __name__ == "__main__":
    if sys.version_info < (3, 8):
        found = sys.version.split()[0]
        sys.stderr.write("keepstep: the launcher needs Python 3.8 or newer, this image has %s\n" % found)
        sys.exit(TOO_OLD)
    here = os.path.dirname(os.path.realpath(__file__))
    if sys.path and sys.path[0] == here:
        del sys.path[0]
    sys.path.append(os.path.dirname(os.path.dirname(here)))

    from keepstep.trainer import enter

    sys.exit(enter.main(sys.argv[1], sys.argv[2:]))

"""``python -m keepstep.agent.install FOLDER``: what a pod's training container needs of us, put where it finds it.

Run by an init container on a volume that the pod's containers share. Doing it again changes nothing.
"""

import shutil
import sys
from pathlib import Path

from keepstep.trainer import wire

TRAINER = Path(wire.__file__).parent
LAUNCH, SHIMS = "bin/keepstep-launch", "bin/keepstep-shims"
"""Where the two ways into a training container lie below the folder."""


def install(folder: Path) -> None:
    """Copy launcher, trainer and shims below ``folder``, and make the task's directory, which is anybody's to write.

    The training container may be any user, and the launcher makes its socket, page and logs there.
    """
    leave = shutil.ignore_patterns("__pycache__", "bin")
    shutil.copytree(TRAINER, folder / "lib" / "keepstep" / "trainer", ignore=leave, dirs_exist_ok=True)
    shutil.copytree(TRAINER / "bin", folder / "bin", dirs_exist_ok=True)
    for script in (folder / "bin").iterdir():
        script.chmod(0o755)
    task = folder / "task"
    task.mkdir(exist_ok=True)
    task.chmod(0o777)


if __name__ == "__main__":
    install(Path(sys.argv[1]))

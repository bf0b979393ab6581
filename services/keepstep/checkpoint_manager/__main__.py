"""``python -m keepstep.checkpoint_manager``."""

from keepstep.checkpoint_manager.app import build
from keepstep.runtime.service import main

if __name__ == "__main__":
    main(build)

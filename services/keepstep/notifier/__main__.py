"""``python -m keepstep.notifier``."""

from keepstep.notifier.app import build
from keepstep.runtime.service import main

if __name__ == "__main__":
    main(build)

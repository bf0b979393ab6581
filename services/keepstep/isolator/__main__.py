"""``python -m keepstep.isolator``."""

from keepstep.isolator.app import build
from keepstep.runtime.service import main

if __name__ == "__main__":
    main(build)

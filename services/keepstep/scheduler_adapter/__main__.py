"""Run the scheduler-adapter: ``python -m keepstep.scheduler_adapter``."""

from keepstep.runtime.service import main
from keepstep.scheduler_adapter.app import build

if __name__ == "__main__":
    main(build)

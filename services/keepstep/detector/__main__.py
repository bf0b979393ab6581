"""``python -m keepstep.detector``: the detector as a process of its own."""

from keepstep.detector.app import build
from keepstep.runtime.service import main

main(build)

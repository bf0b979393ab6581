"""``python -m keepstep.diagnoser``: the diagnoser as a process of its own."""

from keepstep.diagnoser.app import build
from keepstep.runtime.service import main

main(build)

"""First cause and verdict: pure decisions over a job's faults."""

from keepstep.diagnoser.core.decide import HEARS, deadlines, decide, fold_key, over
from keepstep.diagnoser.core.state import JobFold

__all__ = ["HEARS", "JobFold", "deadlines", "decide", "fold_key", "over"]

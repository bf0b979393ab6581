"""What is a fault: pure decisions over a job's observations, and the watch over its telemetry."""

from keepstep.detector.core.decide import HEARS, deadlines, decide, effects, fold_key, over
from keepstep.detector.core.state import Fold, JobFold, NodeFold

__all__ = ["HEARS", "Fold", "JobFold", "NodeFold", "deadlines", "decide", "effects", "fold_key", "over"]

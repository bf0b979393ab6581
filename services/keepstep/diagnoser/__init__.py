"""Hears FaultDetected, FaultCleared and evidence.

Decides the first cause and what may be done about it.
Says IncidentOpened, FaultDiagnosed, IncidentAcknowledged; IncidentClosed for what was over before a verdict,
IncidentOverdue for what is open past its last deadline.
"""

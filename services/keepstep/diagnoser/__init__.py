"""Hears FaultDetected, FaultCleared and evidence.

Decides the first cause and what may be done about it.
Says IncidentOpened, FaultDiagnosed; IncidentClosed for what was over before a verdict.
"""

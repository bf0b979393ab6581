"""Hears FaultDetected and evidence.

Decides the first cause and what may be done about it.
Says IncidentOpened, FaultDiagnosed.
"""

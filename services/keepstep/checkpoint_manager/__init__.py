"""Hears CheckpointSaved, IncidentOpened, FaultDiagnosed.

Decides which checkpoint is whole and where to resume.
Says CheckpointCommitted, CheckpointChosen.
"""

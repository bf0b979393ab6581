"""Hears CheckpointSaved, IncidentOpened, FaultDiagnosed and where ranks are placed.

Decides which checkpoint is whole and where to resume.
Says CheckpointCommitted, CheckpointChosen.
"""

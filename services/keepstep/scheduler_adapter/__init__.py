"""Hears the answers, the cluster watch, the agents and people.

Decides level, places and plan of each generation.
Says JobCreated, JobAccepted to JobDeleted, TaskLost, RecoveryPlanned to JobResumed, IncidentClosed.
"""

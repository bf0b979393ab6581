"""Hears the answers, the cluster watch, the agents and people.

Decides level, places and plan of each generation.
Says RecoveryPlanned to JobResumed, IncidentClosed.
"""

"""Hears FaultDiagnosed, people, and whether the detector sees.

Decides whether nodes are kept away from jobs, and when they come back.
Says NodeIsolated, IsolationDeclined, NodeRecovered, NodeRelapsed, NodeReleased, ReleaseDeclined; IncidentClosed for
one of no job.
"""

"""Hears FaultDiagnosed and people.

Decides whether nodes are kept away from jobs, and when they come back.
Says NodeIsolated, IsolationDeclined, NodeRecovered, NodeRelapsed, NodeReleased, ReleaseDeclined; IncidentClosed for
one of no job.
"""

"""Hears FaultDiagnosed and people.

Decides whether hardware is kept away from jobs.
Says NodeIsolated, DeviceIsolated, IsolationDeclined, NodeReleased.
"""

"""Hears heartbeats, observations and public faults; on Kubernetes reads what others found out about nodes.

Decides what is a fault and what is blindness.
Says FaultDetected, FaultCleared, DetectorBlinded; to itself what its watch suspects.
"""

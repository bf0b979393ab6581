"""Hears heartbeats, observations and public faults.

Decides what is a fault and what is blindness.
Says FaultDetected, FaultCleared, DetectorBlinded; to itself what its watch suspects.
"""

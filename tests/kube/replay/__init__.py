"""Replays recorded traces of a real control plane against the double, in virtual time, and compares what both did."""

"""Tests of the agent of a node."""

"""Tests of detector."""

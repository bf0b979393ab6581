"""Figures are printed by scripts here, never by timed tests."""

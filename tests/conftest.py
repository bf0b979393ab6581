"""Fixtures that every room of the tests may use."""

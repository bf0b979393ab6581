"""Placeholder module text is replaced by its adapter."""

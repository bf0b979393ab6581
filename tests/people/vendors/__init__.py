"""Fakes of the vendors, each with checks of its own."""

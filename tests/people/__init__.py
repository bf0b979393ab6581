"""Reaching people: channels, their vendors, and what they get."""

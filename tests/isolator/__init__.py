"""Tests of isolator."""

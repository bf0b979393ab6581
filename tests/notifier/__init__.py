"""Tests of notifier."""

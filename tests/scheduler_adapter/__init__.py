"""Tests of scheduler-adapter."""

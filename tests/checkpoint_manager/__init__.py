"""Tests of checkpoint-manager."""

"""Tests of diagnoser."""

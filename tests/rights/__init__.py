"""Tests of who may do what: on the bus and on a cluster."""

"""Kubelets for tests that run the containers of their pods as real processes, in real time."""

"""The sidecar: supervises, tails, probes and reports one task; training goes on without it."""

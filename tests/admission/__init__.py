"""The webhook that makes labelled jobs fault-tolerant."""

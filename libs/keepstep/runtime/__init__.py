"""Bus, settings, leases, metrics and the loop that turns pure decisions into a running service."""

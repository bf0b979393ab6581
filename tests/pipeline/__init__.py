"""All services in one process on a bus that is cut at every step of a story."""

"""The seams to the outside world: Protocols of at most five methods, and the two families of errors."""

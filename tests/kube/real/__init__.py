"""A real control plane on this machine: built from Debian's source, started, and given the suite. Not part of CI."""

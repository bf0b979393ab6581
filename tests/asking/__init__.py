"""What people ask, checked."""

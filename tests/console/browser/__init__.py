"""The pages in a real browser without a head."""

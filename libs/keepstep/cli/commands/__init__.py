"""One file per command; each is imported only when its command is given."""

"""Pure decisions of this stage."""

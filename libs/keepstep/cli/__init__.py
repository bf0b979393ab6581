"""The `keepstep` command."""

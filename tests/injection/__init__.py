"""Manifests of users, and what keepstep makes of them."""

"""Diagnosis: rules, findings and the first cause."""

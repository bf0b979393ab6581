"""Words that people read: every sentence and every label, whole in each language."""

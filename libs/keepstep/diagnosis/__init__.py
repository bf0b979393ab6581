"""Catalogues and matchers shared by the agent, the diagnoser and the offline command."""

"""What faults look like and which of several came first: rules as data, pure functions over evidence.

Shared by the agent (lines that are faults in themselves), the diagnoser and offline diagnosis.
"""

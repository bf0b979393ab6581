"""The login of the console: who comes in, as what, until when, and what nobody gets past."""

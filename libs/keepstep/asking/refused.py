"""How it is told that what was asked makes no sense as written."""


class Refused(Exception):
    """Bad usage; the message names the thing and the remedy. A command exits with 2, the API answers 422."""

    exit_code = 2

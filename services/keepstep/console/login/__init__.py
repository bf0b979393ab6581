"""Who may come in: tokens of a file or people of an OpenID provider, their sessions, and what every request must show.

``door`` stands before every route and lets nobody through who is not known; ``routes`` is where people get known.
"""

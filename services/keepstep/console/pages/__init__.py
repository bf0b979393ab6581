"""The web pages: what ``views`` holds, drawn and in words, for people; without a script they read and act all the same.

Each module of a page reads from the board and hands a template what it found; ``drawing`` turns figures into
coordinates and is pure; ``words`` are the two languages. A page's live part is asked for again when ``live`` says so.
"""

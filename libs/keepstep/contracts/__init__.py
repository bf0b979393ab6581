"""The language every part of keepstep speaks: ids, words, messages, orders and policy.

Only pydantic and the standard library are imported here; nothing in it does I/O.
"""

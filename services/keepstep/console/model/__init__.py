"""The fold that the console shows: pure, bounded, and the same whenever the same stream is read again.

``pool.PoolModel`` hears every message and feels every heartbeat; its parts keep one kind of thing each, in a number
that is fixed beside it. Nothing here reads a clock or touches a bus.
"""

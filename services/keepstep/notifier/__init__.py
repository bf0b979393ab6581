"""Hears everything.

Decides who is told what, once, in one thread per incident.
Says NotificationDelivered, NotificationDelayed, NotificationDropped.
"""

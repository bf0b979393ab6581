"""Hears everything.

Decides who is told what, once, in one thread per incident, and when it goes out by each channel.
Says NotificationQueued, NotificationDelivered, NotificationDelayed, NotificationDropped.
"""

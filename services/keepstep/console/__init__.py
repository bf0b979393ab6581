"""console: shows what the stream tells, over HTTP: pages, ``/api/v1`` and a live stream; gives people's orders.

Hears everything, says people's orders and what systems outside report. It keeps nothing of its own: what it shows is
a fold of the stream, made anew at every start. ``views`` is what is shown, ``model`` makes it, ``access`` tells who
asks; pages and API are built on these three.
"""

"""From a user's manifest to a fault-tolerant one, or to objections that name field and remedy. Pure: JSON in, JSON out.

Not an adapter, since it touches nothing; the command line and the admission webhook give the same answer through it.
``shapes`` knows where each kind keeps its pods, ``entry`` what a container runs, ``pods`` what is added to them.
"""

"""The agent of a node: what kernel, disks, memory and clock of one machine show, and when it is over.

``kmsg`` and ``kernel`` read the kernel's log, ``looks`` judges numbers, ``holding`` keeps what flaps from being a
flood, ``report`` puts it into the words of the contracts and ``app`` acts. A further source is a further row or look.
"""

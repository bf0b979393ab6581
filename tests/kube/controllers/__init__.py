"""The controllers of the test cluster: one file per controller, all driven by one loop over the store.

``plane.Plane`` wires them: ``plane.loop.advance`` moves them through virtual time, ``plane.run`` along a real clock.
"""

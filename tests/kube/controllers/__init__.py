"""The controllers of the test cluster: one file per controller, all driven by one loop over the store."""

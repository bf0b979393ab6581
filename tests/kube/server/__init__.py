"""An API server for tests: the verbs that keepstep sends, with the refusals and the order of a real one."""

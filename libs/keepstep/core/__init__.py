"""Pure decisions shared by the services: no I/O, no clock, no bus."""

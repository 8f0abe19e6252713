"""`memorist memory`."""

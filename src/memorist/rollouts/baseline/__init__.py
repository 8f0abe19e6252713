"""The last accepted state of the memory folder."""

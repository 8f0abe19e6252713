"""The lock that decides who may consolidate."""

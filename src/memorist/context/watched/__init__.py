"""Detecting changes of files that were read."""

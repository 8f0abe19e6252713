"""Plugins of both families: which are installed and on, and the name that their skills go by."""

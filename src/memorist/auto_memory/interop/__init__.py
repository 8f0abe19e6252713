"""Memories of other agents: their files read and written."""

"""Synchronising during a session."""

"""Recorded sessions found where agents keep them."""

"""Putting hooks into an agent's settings, and taking them out."""

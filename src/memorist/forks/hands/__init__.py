"""Doing what a fork's calls ask for."""

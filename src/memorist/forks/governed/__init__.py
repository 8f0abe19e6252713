"""Forks that ask first whether they may run."""

"""Detecting the environment: folder, shell, system, date, git."""

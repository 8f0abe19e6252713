"""Hooks of coding agents: an event comes in, an answer goes out, and the agent is never stopped.

Elsewhere: the session behind an event (`engine.observed_session`); the commands that install
hooks (`cli.install_command`).
"""

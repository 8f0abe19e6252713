"""Hooks of coding agents: an event comes in, an answer goes out, and the agent is never stopped."""

"""Forks: restricted subagents that share their parent's prompt prefix, so that the provider bills
it as a cache read.
"""

"""Forks: restricted subagents that share their parent's prompt prefix, so that the provider bills
it as a cache read.

Elsewhere: what a fork is for, in the package that starts it; asking a model once (`models`);
what forks may cost (`budget`).
"""

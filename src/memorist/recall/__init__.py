"""Recall: find the memories that bear on a message, and show them.

Elsewhere: writing memories (`auto_memory`); memory of past sessions by stages (`rollouts`);
instruction files (`context`).
"""

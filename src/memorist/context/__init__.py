"""The context a model is given besides the conversation: its pieces, their sources and reasons.

Elsewhere: memories (`recall`, `rollouts.rollout_memory`); the catalogue of skills (`skills`);
reading and writing the wire formats (`formats`).
"""

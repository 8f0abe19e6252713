"""`memorist rollouts …`.

Elsewhere: what these commands do (`rollouts`, `engine.rollout_pipeline`).
"""

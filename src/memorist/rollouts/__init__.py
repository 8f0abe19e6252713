"""Turn past sessions into memory in two stages: each finished session is extracted, then the
extracts are consolidated into files.

Elsewhere: running the two stages for a worker or a command (`engine.rollout_pipeline`); the
claims on jobs (`store.job_claims`); the words of past sessions at a prompt
(`engine.past_session_recall`).
"""

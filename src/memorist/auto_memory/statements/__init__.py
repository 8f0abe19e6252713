"""What a user states, found without a model.

Elsewhere: what a model extracts, and when (`auto_memory.model_extraction`); whether a statement may be
kept (`auto_memory.write_gate`).
"""

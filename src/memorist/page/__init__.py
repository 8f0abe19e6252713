"""The local page of `memorist ui`: what the model saw, why, what it cost, and how to undo it."""

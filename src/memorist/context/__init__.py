"""What the model is shown before and beside the conversation, piece by piece, and why."""

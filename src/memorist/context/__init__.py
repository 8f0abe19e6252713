"""The context a model is given besides the conversation: its pieces, their sources and reasons."""

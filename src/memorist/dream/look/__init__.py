"""The inputs of a dream."""

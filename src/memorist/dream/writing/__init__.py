"""Writing the result of a dream."""

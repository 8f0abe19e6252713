"""The first context as it was sent, saved for the next process."""

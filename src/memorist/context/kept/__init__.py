"""The first context as it was shown, kept for the next process."""

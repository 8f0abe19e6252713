"""Stage two at work."""

"""Stage one at work on one session."""

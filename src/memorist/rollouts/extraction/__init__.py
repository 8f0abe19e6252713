"""Stage one of one session."""

"""See `run.py`."""

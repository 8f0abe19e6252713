"""Daily logs."""

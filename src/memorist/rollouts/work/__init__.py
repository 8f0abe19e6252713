"""One worker, and the jobs of one machine."""

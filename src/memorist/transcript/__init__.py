"""What a recorded conversation proves."""

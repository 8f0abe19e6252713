"""What memorist may spend, and what it spent."""

"""What a dream writes."""

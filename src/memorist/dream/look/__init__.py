"""What a dream is made from."""

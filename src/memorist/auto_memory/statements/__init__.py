"""What a user states, found without a model."""

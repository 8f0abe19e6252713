"""The program that an agent starts for each event."""

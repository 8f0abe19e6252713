"""The shared memories of this machine."""

"""`memorist doctor`, a module for each group of checks."""

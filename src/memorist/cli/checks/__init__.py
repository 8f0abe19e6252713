"""What `memorist doctor` looks at, an area to a module."""

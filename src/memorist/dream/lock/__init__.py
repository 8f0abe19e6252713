"""Who may consolidate now."""

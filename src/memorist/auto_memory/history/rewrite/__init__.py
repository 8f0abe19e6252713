"""A history rewritten without some files."""

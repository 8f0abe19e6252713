"""A history written anew without some files."""

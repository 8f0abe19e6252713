"""Knowing whether files that were read are as they were."""

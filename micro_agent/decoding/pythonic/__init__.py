"""Calls in Python's syntax, read and never evaluated."""

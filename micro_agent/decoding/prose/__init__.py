"""Calls that a text speaks of: shown, refused, told, or put in an order."""

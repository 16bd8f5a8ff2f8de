"""Doors: protocols by which other people's programs reach an agent."""

"""Patches."""

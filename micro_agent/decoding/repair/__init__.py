"""JSON that is nearly JSON: what mends it, the exact readers first."""

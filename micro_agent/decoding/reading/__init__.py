"""The readers: each claims what it can read of a reply, and `judge` decides."""

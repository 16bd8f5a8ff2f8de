"""Where things stand in a text, found in one pass and in bounded time."""

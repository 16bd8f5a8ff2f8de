"""Text: what is done with strings and JSON, whatever they say. Nothing here knows of agents."""

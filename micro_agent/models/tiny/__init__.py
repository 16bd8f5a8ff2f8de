"""A tiny model of our own that ships: weights, inference in NumPy, the engine of its provider, its tools."""

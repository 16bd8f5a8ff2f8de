"""Running: what surrounds a run, from its settings to its journal, its events, its questions and its tools."""

"""What an agent is in a DSPy program: predictions, callbacks, streams, history, and the file it is saved to."""

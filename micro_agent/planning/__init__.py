"""Planning: one request to the model, and the decision in its reply."""

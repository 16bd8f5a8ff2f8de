"""What tells one sample of a decision from another, before any of them is acted on."""

"""How the tiny model is made from scratch: ``python -m training``, with the extra ``train``."""

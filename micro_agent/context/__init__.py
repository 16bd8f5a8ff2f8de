"""The context of a model: how many tokens a request takes, and what is cut so that the next one fits.

A server that cuts a prompt itself says nothing, and takes the question first. `Window` decides before anything is sent.
Nothing in here knows DSPy or a server; all that is decided follows from the run, so that a replay decides the same.
"""

from micro_agent.context.budget import reserve_of
from micro_agent.context.conversation import Conversation
from micro_agent.context.tokens import estimate
from micro_agent.context.window import Window

__all__ = ["Conversation", "Window", "estimate", "reserve_of"]

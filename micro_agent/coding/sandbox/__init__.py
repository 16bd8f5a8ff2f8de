"""Where commands of the model's run: what holds them, what they may touch, how long and how large they may be."""

from micro_agent.coding.sandbox.choosing import choose
from micro_agent.coding.sandbox.contract import Bounds, Kind, Profile, Ran, Sandbox, SandboxUnavailable, Stage

__all__ = ["Bounds", "Kind", "Profile", "Ran", "Sandbox", "SandboxUnavailable", "Stage", "choose"]

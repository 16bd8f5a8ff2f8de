"""A scripted model that plays a weak one at coding tasks: what it should do is a plan, how it fails is a table.

`CodingModel` is a script for `micro_agent.testing.ScriptedLM` and `micro_agent.testing.ModelServer`. It knows nothing
of what an agent does with its replies: it reads the messages and the tools that are sent to it, as any model does.
"""

from micro_agent.testing.coding_model.faults import FAULTS
from micro_agent.testing.coding_model.model import CodingModel, Decided
from micro_agent.testing.coding_model.plan import Edit, Plan

__all__ = ["FAULTS", "CodingModel", "Decided", "Edit", "Plan"]

"""The wires: how a decision, an observation and a word of the loop are said to a model in each mode.

`NativeWire` and `JsonWire` say single things, `turns_of` and `demo_of` render whole turns and demos on either, and a
`Page` holds the conversation of one run.
"""

from micro_agent.context.views import View
from micro_agent.wires.decisions import JsonWire, decision_schema
from micro_agent.wires.native import SETTINGS, NativeWire
from micro_agent.wires.page import Page
from micro_agent.wires.said import shown
from micro_agent.wires.turns import demo_of, turns_of

__all__ = ["SETTINGS", "JsonWire", "NativeWire", "Page", "View", "decision_schema", "demo_of", "shown", "turns_of"]

"""The digests of what an agent's runs are made with, which a replay compares."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from micro_agent.demos import with_system
from micro_agent.planning.given_demos import Given
from micro_agent.rules import Rule
from micro_agent.run import Mode
from micro_agent.tools import Tool, digest
from micro_agent.tools.outputs import Outputs


class Digests:
    """Those of one agent. What does not change between its runs is computed once."""

    def __init__(
        self, tools: Mapping[str, Tool], rules: Sequence[Rule], given: Given, system: str | None, outputs: Outputs
    ) -> None:
        submit = {} if outputs.submit is None else {outputs.submit.name: outputs.submit}
        named = [f"{getattr(rule, '__module__', '')}.{getattr(rule, '__qualname__', repr(rule))}" for rule in rules]
        self._fixed = {"tools": digest({**tools, **submit}), "rules": _sha256(named)}
        self._given, self._system = given, system

    def of_run(self, predict: Any, lm: Any, mode: Mode) -> dict[str, str]:
        """Those of a run that is planned by ``predict`` in this mode."""
        signature, shown = self._given.shown(predict, lm, mode)
        demos = [with_system(signature.instructions, self._system), list(map(dict, shown)), self._given.bare]
        return {**self._fixed, "demos": _sha256(demos)}


def _sha256(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()

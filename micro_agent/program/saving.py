# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What of an agent goes into the file of ``save(save_program=True)``: all but its keys and the settings of the machine.

Keys and settings are those of the environment that the program is loaded in.
"""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import dspy

from micro_agent.files.known_secrets import is_secret
from micro_agent.models.recorded import foreign_url
from micro_agent.models.settings import load_settings
from micro_agent.traces import TraceStore

_ENGINES = ("engine", "async_engine")
_NOTED = ("provider_name", "fallback_from")
"""What `configure_lm` notes beside the model that it makes."""


class SavedLM:
    """A model without its keys. A custom one needs ``dump_state`` and ``load_state``, as DSPy asks of one."""

    def __init__(self, lm: Any) -> None:
        self._state = without_secrets(lm.dump_state())
        self._noted = {name: vars(lm)[name] for name in _NOTED if name in vars(lm)}

    def loaded(self) -> Any:
        """The model, with the key of today's environment where that names the same server."""
        engines = {name: self._state[name] for name in _ENGINES if isinstance(self._state.get(name), dict)}
        keyed = {name: _keyed(engine) for name, engine in engines.items()}
        lm = dspy.BaseLM.load_state({**self._state, **keyed}, allow_custom_lm_class=True)
        vars(lm).update(self._noted)
        return lm


def saved(state: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an agent as they are pickled."""
    setup, plan = state["_setup"], copy.copy(state["plan"])
    plan.lm, own = None, plan.lm
    traces = setup.traces and TraceStore(setup.traces.directory, state_dir=setup.traces.state_dir)
    return {
        **state, "plan": plan, "lm": state["lm"] and SavedLM(state["lm"]), "_plan_lm": own and SavedLM(own),
        "_setup": replace(setup, traces=traces, settings=None),
    }  # fmt: skip


def restored(state: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an agent that was pickled.

    Raises:
        ConfigurationError: The environment holds a setting that cannot be.
    """
    own = state["_plan_lm"]
    state["plan"].lm = own and own.loaded()
    setup = replace(state["_setup"], settings=load_settings())
    rest = {name: value for name, value in state.items() if name != "_plan_lm"}
    return {**rest, "lm": state["lm"] and state["lm"].loaded(), "_setup": setup}


def without_secrets(state: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a model but for those that are secrets, nested or not."""
    kept: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, Mapping):
            kept[name] = without_secrets(cast("Mapping[str, Any]", value))
        elif not (isinstance(value, str) and is_secret(name, value)):
            kept[name] = value
    return kept


def _keyed(engine: dict[str, Any]) -> dict[str, Any]:
    """The state of an engine of ours for OpenAI's wire, with the key that is meant for its server today."""
    settings, state = load_settings(), engine["state"]
    if settings.openai_api_key is None:
        return engine
    key = settings.openai_api_key.get_secret_value()
    if engine["class"].startswith("micro_agent.models.openai:"):
        meant = foreign_url("openai", state["base_url"], settings) is None
        return {**engine, "state": {**state, "api_key": key}} if meant else engine
    if engine["class"].startswith("micro_agent.models.servers:") and state["kind"] == "openai":
        meant = all(foreign_url("openai", url, settings) is None for url in state["base_urls"])
        return {**engine, "state": {**state, "each": {**state["each"], "api_key": key}}} if meant else engine
    return engine

"""What a person can choose in a session: the agent that is asked, and what becomes of calls that want a word."""

from typing import Literal, cast, get_args

from acp.schema import (
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from micro_agent.errors import ConfigurationError

Mode = Literal["code", "chat"]
Approvals = Literal["ask", "never", "all"]
ConfigOption = SessionConfigOptionSelect | SessionConfigOptionBoolean

_MODES: dict[str, tuple[str, str]] = {
    "code": ("Code", "Works in the repository: finds, reads, changes with your approval, tests."),
    "chat": ("Chat", "Answers with your own tools. Nothing of the folder is read."),
}
_APPROVALS: dict[str, tuple[str, str]] = {
    "ask": ("Ask me", "You are asked before a change, a command or another call that wants your word."),
    "never": ("Never", "Such calls are not made, and the model is told so."),
    "all": ("Approve all", "Such calls are made unseen."),
}


def modes(current: Mode, *, repository: bool) -> SessionModeState:
    """The modes of a session: without a repository there is nothing to code in."""
    offered = [mode for mode in _MODES if repository or mode == "chat"]
    listed = [SessionMode(id=mode, name=_MODES[mode][0], description=_MODES[mode][1]) for mode in offered]
    return SessionModeState(current_mode_id=current, available_modes=listed)


def options(mode: Mode, approvals: Approvals, *, repository: bool) -> list[ConfigOption]:
    """The same for editors that know of more choices than modes."""
    offered = {name: told for name, told in _MODES.items() if repository or name == "chat"}
    return [
        SessionConfigOptionSelect(
            type="select", id="mode", name="Mode", category="mode", current_value=mode, options=_listed(offered)
        ),
        SessionConfigOptionSelect(
            type="select", id="approvals", name="Approvals", current_value=approvals, options=_listed(_APPROVALS)
        ),
    ]


def _listed(offered: dict[str, tuple[str, str]]) -> list[SessionConfigSelectOption]:
    return [
        SessionConfigSelectOption(value=value, name=name, description=told) for value, (name, told) in offered.items()
    ]


def mode_named(name: object, *, repository: bool) -> Mode:
    """A mode. Raises `ConfigurationError` for what is none here."""
    offered = [mode for mode in _MODES if repository or mode == "chat"]
    if name in offered:
        return cast("Mode", name)
    why = "" if repository or name != "code" else ": the folder of this session is in no git repository"
    raise ConfigurationError(f"there is no mode {name!r:.60} here{why}; there are: {', '.join(offered)}")


def approvals_named(name: object) -> Approvals:
    """What becomes of calls that want a word. Raises `ConfigurationError`."""
    if name in get_args(Approvals):
        return cast("Approvals", name)
    raise ConfigurationError(f"approvals cannot be {name!r:.60}; there are: {', '.join(get_args(Approvals))}")

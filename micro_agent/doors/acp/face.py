"""What an editor can ask for, by the names that the protocol has."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from acp import PROTOCOL_VERSION, RequestError
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AuthenticateResponse,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)

from micro_agent import __version__
from micro_agent.doors.acp.choices import Approvals, approvals_named, mode_named, modes, options
from micro_agent.doors.acp.keeping import Keeping, Kept
from micro_agent.doors.acp.places import Making
from micro_agent.doors.acp.prompts import Block, asked_in
from micro_agent.doors.acp.servers import sent
from micro_agent.doors.acp.session import Session, Surroundings
from micro_agent.errors import ConfigurationError, MicroAgentError, RunNotFound
from micro_agent.extras import is_installed
from micro_agent.files.masking import mask_of
from micro_agent.run import new_id
from micro_agent.tools.callbacks import described
from micro_agent.traces import as_it_stands

P = ParamSpec("P")
T = TypeVar("T")
_CODES: dict[type[MicroAgentError], int] = {RunNotFound: -32002, ConfigurationError: -32602}
_INTERNAL = -32603
_log = logging.getLogger("micro_agent")


def in_words(method: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """A method whose errors are those of the protocol, each with a line that says what to do."""

    @wraps(method)
    async def answered(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except RequestError:
            raise
        except MicroAgentError as error:
            known = (code for kind, code in _CODES.items() if isinstance(error, kind))
            raise RequestError(next(known, _INTERNAL), mask_of().text(str(error))) from error
        except Exception as error:
            _log.exception("a defect in %s", method.__name__)
            raise RequestError(_INTERNAL, mask_of().text(f"a defect of micro-agent: {described(error)}")) from error

    return answered


class Face:
    """The agent's side of the protocol; the SDK calls these methods.

    Args:
        making: Makes what sessions need.
        keeping: Keeps them.
        approvals: What becomes of calls that want a person's word, until it is chosen otherwise.
    """

    def __init__(self, making: Making, keeping: Keeping, *, approvals: Approvals) -> None:
        self._making, self._keeping, self._approvals = making, keeping, approvals
        self._sessions: dict[str, Session] = {}
        self._client: Client

    def on_connect(self, conn: Client) -> None:
        """The editor is there."""
        self._client = conn

    async def suspend(self) -> None:
        """The editor is gone: leave all runs under way as they are."""
        await asyncio.gather(*(session.suspend() for session in self._sessions.values()))

    @in_words
    async def initialize(self, protocol_version: int, **more: Any) -> InitializeResponse:
        """What this agent can do."""
        images = await asyncio.to_thread(self._making.takes_images)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                mcp_capabilities=McpCapabilities(http=is_installed("mcp"), sse=False),
                prompt_capabilities=PromptCapabilities(image=images, embedded_context=True),
                session_capabilities=SessionCapabilities(list=SessionListCapabilities()),
            ),
            agent_info=Implementation(name="micro-agent", title="micro-agent", version=__version__),
        )  # fmt: skip

    @in_words
    async def authenticate(self, method_id: str, **more: Any) -> AuthenticateResponse:
        """There is nothing to log in to."""
        return AuthenticateResponse()

    @in_words
    async def new_session(
        self, cwd: str, additional_directories: Sequence[str] | None = None, mcp_servers: Sequence[Any] | None = None,
        **more: Any,
    ) -> NewSessionResponse:  # fmt: skip
        """A new conversation, in code mode where the folder is in a git repository."""
        session = await self._opened(Kept(new_id(), cwd, "", self._approvals), mcp_servers)
        self._sessions[session.kept.id] = session
        return NewSessionResponse(
            session_id=session.kept.id, modes=_modes(session), config_options=_options(session)
        )  # fmt: skip

    @in_words
    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **more: Any
    ) -> LoadSessionResponse:
        """A conversation that is on record; it is shown as it was."""
        kept = self._keeping.get(session_id)
        if Path(kept.cwd) != Path(cwd):
            raise ConfigurationError(f"session {session_id} is of {kept.cwd}: open that folder to go on with it")
        session = self._sessions.get(session_id)
        if session is None:
            session = await self._opened(kept, mcp_servers)
            session.run = await asyncio.to_thread(as_it_stands, session.place.store, kept.run or "")
            self._sessions[session_id] = session
        await session.show()
        return LoadSessionResponse(modes=_modes(session), config_options=_options(session))

    @in_words
    async def list_sessions(self, cwd: str | None = None, **more: Any) -> ListSessionsResponse:
        """The conversations on record, of one folder or of all."""
        found = [(kept, at) for kept, at in self._keeping.all() if cwd is None or Path(kept.cwd) == Path(cwd)]
        listed = [SessionInfo(session_id=one.id, cwd=one.cwd, title=one.title, updated_at=at) for one, at in found]
        return ListSessionsResponse(sessions=listed)

    @in_words
    async def set_session_mode(self, session_id: str, mode_id: str, **more: Any) -> SetSessionModeResponse:
        """Ask the other agent from the next turn on."""
        session = self._session(session_id)
        session.choose(mode=mode_named(mode_id, repository=session.place.root is not None))
        told = ConfigOptionUpdate(session_update="config_option_update", config_options=_options(session))
        await self._client.session_update(session_id, told)
        return SetSessionModeResponse()

    @in_words
    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **more: Any
    ) -> SetSessionConfigOptionResponse:
        """Choose the mode, or what becomes of calls that want a word."""
        session = self._session(session_id)
        if config_id == "mode":
            session.choose(mode=mode_named(value, repository=session.place.root is not None))
            told = CurrentModeUpdate(session_update="current_mode_update", current_mode_id=session.mode)
            await self._client.session_update(session_id, told)
        elif config_id == "approvals":
            session.choose(approvals=approvals_named(value))
        else:
            raise ConfigurationError(f"there is no option {config_id!r:.60}; there are: mode, approvals")
        return SetSessionConfigOptionResponse(config_options=_options(session))

    @in_words
    async def prompt(self, session_id: str, prompt: Sequence[Block], **more: Any) -> PromptResponse:
        """Do what a person writes."""
        session = self._session(session_id)
        return await session.prompt(asked_in(prompt, session.place.cwd))

    async def cancel(self, session_id: str, **more: Any) -> None:
        """End the turn under way."""
        if (session := self._sessions.get(session_id)) is not None:
            session.cancel()

    async def _opened(self, kept: Kept, mcp_servers: Sequence[Any] | None) -> Session:
        if not Path(kept.cwd).is_absolute():
            raise ConfigurationError(f"cwd is {kept.cwd!r:.200}: name a folder by its absolute path")
        place = await asyncio.to_thread(self._making.place, Path(kept.cwd))
        mode = mode_named(kept.mode or ("code" if place.root else "chat"), repository=place.root is not None)
        shared = Surroundings(self._client, self._making, self._keeping)
        named = sent(mcp_servers or (), place.cwd)
        return Session(shared, place, kept, approvals=approvals_named(kept.approvals), mode=mode, sent=named)

    def _session(self, session_id: str) -> Session:
        if (session := self._sessions.get(session_id)) is None:
            raise RunNotFound(f"there is no session {session_id[:60]!a} open: begin one, or load it")
        return session


def _modes(session: Session) -> Any:
    return modes(session.mode, repository=session.place.root is not None)


def _options(session: Session) -> Any:
    return options(session.mode, session.approvals, repository=session.place.root is not None)

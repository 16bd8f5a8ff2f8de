"""The agent for editors as an editor meets it: the SDK's own client, unchanged, and a process that it starts."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse
from acp.stdio import spawn_agent_process

from tests.warm import Warm, empty_environment

Answer = Callable[[Any, Sequence[Any]], str | None]
"""What a person chooses of the options about a call: the kind of one, ``None`` for none."""


class Editor:
    """A client that keeps what it is sent."""

    def __init__(self, answer: Answer) -> None:
        self.updates: list[Any] = []
        self.asked: list[Any] = []
        self.answer = answer
        self.told: Any = None
        """What the agent says of itself."""

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Sequence[Any], **more: Any
    ) -> RequestPermissionResponse:
        self.asked.append(tool_call)
        kind = await asyncio.to_thread(self.answer, tool_call, options)
        chosen = next((option.option_id for option in options if option.kind == kind), None)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    def on_connect(self, conn: Any) -> None: ...

    def of(self, kind: str) -> list[Any]:
        """The updates of this kind."""
        return [update for update in self.updates if update.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of(kind))

    async def until(self, so: Callable[[], object]) -> None:
        """Wait until something is so, half a minute at most."""
        async with asyncio.timeout(120):
            while not so():
                await asyncio.sleep(0.02)


Started = Callable[..., Any]


@pytest.fixture
def editor(tmp_path: Path, warm: Warm) -> Started:
    """Starts the agent, as an editor does; gives the connection, the editor and the process."""

    @asynccontextmanager
    async def start(
        *args: str, answer: Answer = lambda call, options: "allow_once", env: dict[str, str] | None = None
    ) -> AsyncGenerator[tuple[Any, Editor, Any]]:
        client = Editor(answer)
        environment = empty_environment(tmp_path) | {"RESAMPLES": "0"} | (env or {})
        words = [str(warm.scripts / "micro-agent"), "acp", *args]
        with (tmp_path / "said").open("w") as said:
            streams = {"stderr": said}
            async with spawn_agent_process(
                cast("Any", client), *words, env=environment, cwd=tmp_path, transport_kwargs=streams
            ) as (connection, process):
                client.told = await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
                yield connection, client, process

    return start


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, a minute at most."""

    async def limited() -> None:
        async with asyncio.timeout(300):
            await coroutine

    asyncio.run(limited())


def model(server: Any) -> list[str]:
    """The options that name a scripted model."""
    return ["--base-url", server.openai_url, "--model", "openai/scripted"]

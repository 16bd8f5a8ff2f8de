"""Clients of other people, unchanged, against the agent: OpenAI's own, and pydantic-ai. They take seconds to import."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from micro_agent.testing import text
from tests.server.conftest import TOKEN
from tests.server.openai.conftest import SUM, TIDY, add, says
from tests.torture.programs import program

if TYPE_CHECKING:
    from tests.server.conftest import Start

pytestmark = pytest.mark.torture

ASKED: Any = [says("user", "What is 2+3?")]


@pytest.fixture
def asking(start: "Start") -> Iterator[Callable[[Any], Any]]:
    """OpenAI's client of a server whose model plays a script."""
    import openai

    with ExitStack() as stack:

        def asking(script: Any) -> Any:
            serving = start(script, tools=[add], api_token=TOKEN)
            plain = stack.enter_context(httpx.Client(trust_env=False))
            return openai.OpenAI(base_url=f"http://{serving.authority}/v1", api_key=TOKEN, http_client=plain)

        yield asking


def test_the_helpers_for_chat_completions(asking: Callable[[Any], Any]) -> None:
    import openai

    client = asking([*SUM * 4, *TIDY])
    assert [model.id for model in client.models.list()] == ["micro-agent"]
    assert client.models.retrieve("micro-agent").owned_by == "micro-agent"
    chat = client.chat.completions
    done = chat.create(model="micro-agent", messages=ASKED)
    assert (done.choices[0].message.content, done.choices[0].message.tool_calls) == ("It is 5.", None)
    with chat.stream(model="micro-agent", messages=ASKED, stream_options={"include_usage": True}) as stream:
        kinds = {event.type for event in stream}
        final: Any = stream.get_final_completion()
    assert (final.choices[0].message.content, final.usage) == ("It is 5.", done.usage)
    assert kinds == {"chunk", "content.delta", "content.done"}
    said = [
        chunk.choices[0].delta.content or "" for chunk in chat.create(model="micro-agent", messages=ASKED, stream=True)
    ]
    assert "".join(said) == "It is 5."
    with chat.with_streaming_response.create(model="micro-agent", messages=ASKED, stream=True) as response:
        assert sum(line.startswith("data: ") for line in response.iter_lines()) == len(said) + 1
    tidy = says("user", "Tidy up.")
    question = chat.create(model="micro-agent", messages=[tidy]).choices[0].message
    turns = [tidy, question, says("user", "approve")]
    assert chat.create(model="micro-agent", messages=turns).choices[0].message.content == "It is gone."
    with pytest.raises(openai.BadRequestError) as refused:
        chat.create(model="micro-agent", messages=ASKED, tools=[{"type": "function", "function": {"name": "f"}}])
    assert (refused.value.code, refused.value.param) == ("unsupported_parameter", "tools")
    with pytest.raises(openai.InternalServerError, match="the script is exhausted"):
        chat.create(model="micro-agent", messages=ASKED)
    with pytest.raises(openai.APIError, match="the script is exhausted"):
        list(chat.create(model="micro-agent", messages=ASKED, stream=True))
    with pytest.raises(openai.NotFoundError):
        chat.create(model="gpt-5", messages=ASKED)
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").models.list()


def test_raw_responses_and_parsing(asking: Callable[[Any], Any]) -> None:
    client = asking(SUM * 4)
    raw = client.chat.completions.with_raw_response.create(model="micro-agent", messages=ASKED)
    assert (raw.headers["content-type"], raw.parse().choices[0].message.content) == ("application/json", "It is 5.")
    parsed: Any = client.chat.completions.parse(model="micro-agent", messages=ASKED).choices[0].message
    assert (parsed.content, parsed.parsed) == ("It is 5.", None)
    raw = client.responses.with_raw_response.create(model="micro-agent", input="What is 2+3?")
    assert raw.parse().output_text == "It is 5."
    assert client.responses.parse(model="micro-agent", input="What is 2+3?").output_text == "It is 5."


def test_the_client_that_is_asynchronous(asking: Callable[[Any], Any]) -> None:
    import openai

    plain = asking(SUM * 3)

    async def answers() -> list[Any]:
        async with openai.AsyncOpenAI(
            base_url=plain.base_url, api_key=TOKEN, http_client=httpx.AsyncClient(trust_env=False)
        ) as client:
            found: list[Any] = [model.id async for model in client.models.list()]
            async with client.chat.completions.stream(model="micro-agent", messages=ASKED) as stream:
                deltas = [event.delta async for event in stream if event.type == "content.delta"]
                found += ["".join(deltas), (await stream.get_final_completion()).choices[0].message.content]
            async with client.responses.stream(model="micro-agent", input="What is 2+3?") as told:
                found += [event.delta async for event in told if event.type == "response.output_text.delta"]
                found.append((await told.get_final_response()).output_text)
            pieces = await client.chat.completions.create(model="micro-agent", messages=ASKED, stream=True)
            return [*found, "".join([piece.choices[0].delta.content or "" async for piece in pieces])]

    assert asyncio.run(answers()) == ["micro-agent", *["It is 5."] * 5]


PYDANTIC_AI = """
import asyncio, sys
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

async def main(url, key):
    provider = OpenAIProvider(base_url=url, api_key=key)
    agent = Agent(OpenAIChatModel("micro-agent", provider=provider))
    first = await agent.run("What is 2+3?")
    print(first.output)
    print((await agent.run("And twice that?", message_history=first.all_messages())).output)
    for model in (OpenAIChatModel, OpenAIResponsesModel):
        async with Agent(model("micro-agent", provider=provider)).run_stream("What is 2+3?") as stream:
            print(await stream.get_output())

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter that has pydantic-ai."""
    return str(program("python"))


def test_pydantic_ai_asks_the_agent_as_it_asks_a_model(asking: Callable[[Any], Any], python: str) -> None:
    url = str(asking([*SUM, text("It is 10."), *SUM, *SUM]).base_url)
    told = subprocess.run(
        [python, "-c", PYDANTIC_AI, url, TOKEN], capture_output=True, text=True, check=False, timeout=200,
        env={**os.environ, "NO_PROXY": "*"},
    )  # fmt: skip
    assert told.stdout.splitlines() == ["It is 5.", "It is 10.", "It is 5.", "It is 5."], told.stderr


def test_the_helpers_for_responses(asking: Callable[[Any], Any]) -> None:
    client = asking([*SUM, *SUM, text("It is 10."), text("It is 20.")]).responses
    done = client.create(model="micro-agent", input="What is 2+3?")
    with client.stream(model="micro-agent", input="What is 2+3?") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert [item.type for item in final.output] == [item.type for item in done.output] == ["mcp_call", "message"]
    assert (final.output_text, final.usage) == (done.output_text, done.usage) == ("It is 5.", done.usage)
    assert kinds[-1] == "response.completed"
    after = client.create(
        model="micro-agent", input=[*final.output, says("user", "?")][-1:], previous_response_id=final.id
    )
    assert after.output_text == "It is 10."

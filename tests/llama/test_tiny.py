"""The tiny model that ships, in llama.cpp: the same template, the same tokens, the same text."""

import json
from typing import TYPE_CHECKING, Any
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import pytest

from micro_agent import MicroAgent, configure_lm
from micro_agent.models.openai import OpenAIEngine
from micro_agent.models.tiny.generating import TinyModel, card
from micro_agent.models.tiny.generating import shipped as in_numpy
from micro_agent.models.tiny.sampling import Sampling
from micro_agent.models.tiny.template import prompt_of
from micro_agent.models.tiny.tokenizer import MARKS, Part
from micro_agent.run import Mode
from micro_agent.tools import load_tools
from training.measure import held_out
from training.tasks import KINDS

if TYPE_CHECKING:
    from tests.llama.server import Llama

MODES: list[Mode] = ["native", "json"]
MOST = 60


def posted(server: "Llama", path: str, body: Any) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with urlopen(HttpRequest(server.url + path, data, {"Content-Type": "application/json"})) as answer:
        return json.load(answer)


def text_of(prompt: list[Part]) -> str:
    """A prompt for llama.cpp, which begins it by itself."""
    return "".join(MARKS[part] if isinstance(part, int) else part for part in prompt[1:])


def prompts(mode: Mode) -> list[list[Part]]:
    """Of all kinds, held out of training: at every turn of a conversation of each."""
    return [prompt for kind in KINDS for turns in held_out(kind, mode, 1, seed=7) for prompt, _, _ in turns]


@pytest.mark.parametrize(
    ("mode", "every"),
    [("native", 8), *(pytest.param(mode, 2, marks=pytest.mark.torture) for mode in MODES)],
)
def test_numpy_writes_the_same_text(shipped: "Llama", mode: Mode, every: int) -> None:
    model: TinyModel = in_numpy()
    asked = prompts(mode)[::every]
    assert len(asked) >= 50 // every
    for prompt in asked:
        text = text_of(prompt)
        tokens = posted(shipped, "/tokenize", {"content": text, "add_special": True})["tokens"]
        assert tokens == model.tokenizer.encode(prompt)
        theirs = posted(shipped, "/completion", {"prompt": text, "n_predict": MOST, "temperature": 0, "special": True})
        ours = model.complete(prompt, Sampling(max_tokens=MOST))
        assert ours.text == theirs["content"].removesuffix("<|im_end|>")
        assert (ours.finish == "length") == (theirs["stop_type"] == "limit")
        assert ours.tokens == theirs["tokens_predicted"]


@pytest.mark.parametrize("mode", MODES)
def test_both_read_a_conversation_in_the_same_form(shipped: "Llama", mode: Mode) -> None:
    from random import Random

    from training.conversations import ALL, Classroom
    from training.tasks import task

    engine = OpenAIEngine(model="tiny", base_url=shipped.openai_url)
    room = Classroom(ALL, mode, Random(3), slips=1)
    for kind in KINDS:
        if (found := room.conversation([task(Random(kind), held=True, kind=kind)])) is None:
            continue  # the loop took another way
        body = engine.render(found[1], stream=False)
        assert posted(shipped, "/apply-template", body)["prompt"] == text_of(prompt_of(found[1]))


def test_an_agent_gets_the_same_of_both(shipped: "Llama") -> None:
    tools = list(load_tools(modules="micro_agent.models.tiny.toolset").values())
    lms = configure_lm("openai", card()["name"], shipped.openai_url, temperature=0), configure_lm("tiny", temperature=0)
    for question in ("What does the kettle cost?", "What do 7 lamp cost?", "Good bye", "How old is Ben?"):
        one, other = (MicroAgent(tools, lm, "native", finish="text").ask(question) for lm in lms)
        assert one.answer == other.answer
        assert [(step.tool, step.args) for step in one.steps] == [(step.tool, step.args) for step in other.steps]
        assert [call.output_tokens for call in one.calls] == [call.output_tokens for call in other.calls]

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Images in questions: on both wires, on record without their data, and where they cannot be sent."""

import base64
import json
import struct
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dspy
import pytest

from micro_agent import MicroAgent, Run, configure_lm, tool
from micro_agent.errors import ConfigurationError
from micro_agent.models import load_settings
from micro_agent.optimize.recorded import task_of
from micro_agent.optimize.showable import showable
from micro_agent.replay import describe, fork, verify
from micro_agent.run import CONTEXT_TRIMMED
from micro_agent.testing import ModelServer, Reply, ScriptedLM, call, decision, error, final, text
from micro_agent.traces import TraceStore

ONE = "question, image: dspy.Image -> answer"
WAYS = [("openai", "native"), ("openai", "json"), ("ollama", "native"), ("ollama", "json")]


def png(shade: int = 0) -> bytes:
    """A picture of one dot."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    dot = zlib.compress(bytes([0, shade]))
    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", dot) + chunk(b"IEND", b"")


def picture(shade: int = 0) -> dspy.Image:
    return dspy.Image(f"data:image/png;base64,{coded(png(shade))}")


@tool(read_only=True)
def measure(what: str) -> str:
    """Measure something."""
    return f"{what}: 3 mm"


@tool(requires_confirmation=True)
def send(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


@contextmanager
def asked(
    script: list[Reply], way: tuple[str, str] = ("openai", "native"), signature: str | None = ONE, *,
    can: tuple[str, ...] = ("completion", "tools", "vision"), **options: Any,
) -> Generator[tuple[MicroAgent, ModelServer]]:  # fmt: skip
    provider, mode = way
    with ModelServer(script, capabilities=can) as server:
        lm = configure_lm(provider, "scripted", server.openai_url if provider == "openai" else server.url, "none")
        held: dict[str, Any] = {"tools": [measure, send], "mode": mode, "rules": [], "finish": "text", "demos": []}
        yield MicroAgent(signature, lm=lm, **held | options), server


def says(mode: str, answer: str) -> Reply:
    return text(answer) if mode == "native" else final(answer)


def shown(message: dict[str, Any]) -> tuple[str, list[str]]:
    """The text of a message of either wire, and the base64 or addresses of its images."""
    if isinstance(message["content"], str):
        return message["content"], message.get("images", [])
    texts = [part["text"] for part in message["content"] if part["type"] == "text"]
    urls = [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"]
    return "\n".join(texts), [url.partition(";base64,")[2] or url for url in urls]


def last(server: ModelServer, number: int = -1) -> list[tuple[str, list[str]]]:
    messages = (server.chats[number].body or {})["messages"]
    return [shown(message) for message in messages if message["role"] == "user"]


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_an_image_stands_behind_the_question_on_the_wire_and_on_no_record(
    way: tuple[str, str], store: TraceStore
) -> None:
    mode = way[1]
    measures = (call if mode == "native" else decision)("measure", {"what": "dot"})
    with asked([measures, says(mode, "A dot.")], way, traces=store) as (agent, server):
        run = agent.ask("What is it?", image=picture())
        assert (run.answer, run.error) == ("A dot.", None)
        for number in (0, 1):
            assert last(server, number)[0] == ("What is it?", [coded(png())])
        assert run.inputs == {"question": "What is it?", "image": "(image 1)"}
        [image] = run.images
        assert (image.media_type, image.size, len(str(image.sha256))) == ("image/png", len(png()), 64)
        record = store.path(run.id).read_text()
        assert coded(png()) not in record
        assert json.loads(record)["images"] == [
            {"media_type": "image/png", "size": len(png()), "sha256": image.sha256, "url": None}
        ]
        seen = agent.history[-1]["messages"]
        assert f"What is it?\n[image image/png {image.sha256}]" in [message["content"] for message in seen]
        assert [verdict.outcome for verdict in verify([store.load(run.id)], agent)] == ["same"]
        assert f"Image 1: image/png, {len(png())} bytes" in list(describe(run))


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_several_inputs_and_images_have_their_places(way: tuple[str, str]) -> None:
    signature = "question, hint, images: list[dspy.Image], logo: dspy.Image | None -> answer"
    with asked([says(way[1], "Two dots.")], way, signature) as (agent, server):
        given = [picture(shade) for shade in (0, 9)]
        run = agent.ask("What?", hint="Dots.", images=given, logo=None)
        assert run.answer == "Two dots."
        told = 'question: What?\n\nhint: Dots.\n\nimages: ["(image 1)", "(image 2)"]\n\nlogo: null'
        assert last(server) == [(told, [coded(png(0)), coded(png(9))])]


def test_bytes_and_files_are_images(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(png(9))
    with asked([text("Two.")], signature="question, images: list[dspy.Image] -> answer") as (agent, server):
        agent.ask("What?", images=[png(0), tmp_path / "dot.png"])
        assert last(server) == [("What?", [coded(png(0)), coded(png(9))])]
        with pytest.raises(TypeError, match="No such file"):
            agent.ask("What?", images=[tmp_path / "none.png"])
        with pytest.raises(TypeError, match="not a PNG"):
            agent.ask("What?", images=[b"words"])


def test_an_image_alone_is_named() -> None:
    with asked([text("A dot.")], signature="image: dspy.Image -> answer") as (agent, server):
        assert agent(image=picture()).answer == "A dot."
        assert last(server) == [("image: (image 1)", [coded(png())])]


def test_an_address_goes_to_openai_as_it_is_and_not_to_ollama() -> None:
    image = dspy.Image("https://example.org/dot.png")
    with asked([text("A dot.")]) as (agent, server):
        run = agent.ask("What?", image=image)
        assert (run.answer, run.images[0].url) == ("A dot.", "https://example.org/dot.png")
        assert last(server) == [("What?", ["https://example.org/dot.png"])]
    with asked([], ("ollama", "json")) as (agent, server):
        run = agent.ask("What?", image=image)
        assert (run.status, run.termination_reason) == ("failed", "lm_error")
        assert "Ollama takes no address of an image: pass the file" in str(run.error)
        assert server.chats == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (dspy.Image("gs://bucket/dot.png"), "an image is a file, its bytes, or an https URL"),
        (dspy.Image("data:image/png;base64," + coded(b"not a picture")), "not a PNG, JPEG, GIF or WebP image"),
        (dspy.Image("data:image/png;base64,%%%"), "not base64"),
        ("no picture", "input 'image'"),
    ],
)
def test_what_is_not_an_image_is_refused(given: Any, told: str) -> None:
    with asked([]) as (agent, server), pytest.raises(TypeError, match=told):
        agent.ask("What?", image=given)
    assert server.chats == []


@pytest.mark.parametrize(
    ("data", "media_type"),
    [(b"\xff\xd8\xff\xe0 and more", "image/jpeg"), (b"GIF89a and more", "image/gif"), (b"RIFF1234WEBP", "image/webp")],
)
def test_the_kind_of_an_image_is_read_from_its_bytes(data: bytes, media_type: str) -> None:
    with asked([text("Yes.")]) as (agent, _):
        run = agent.ask("What?", image=dspy.Image("data:image/png;base64," + coded(data)))
    assert run.images[0].media_type == media_type


def test_a_model_that_says_it_takes_no_images_is_not_asked() -> None:
    with asked([], ("ollama", "json"), can=("completion", "tools")) as (agent, server):
        with pytest.raises(ConfigurationError, match=r"ollama/scripted takes no images, as its server says: ask one"):
            agent.ask("What?", image=picture())
        assert server.chats == []


def test_the_mock_sees_nothing() -> None:
    run = MicroAgent(ONE, lm=configure_lm("mock")).ask("What is 2*3?", image=picture())
    assert (run.status, "it does not see images" in str(run.error)) == ("failed", True)


REFUSALS = [
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (500, 'Failed to parse messages: Unsupported content part type: "image_url"; messages = [{"tools": []}]'),
    (400, "this model does not support image input"),
    (400, "this model is missing data required for image input"),
    (400, "Invalid content type. image_url is only supported by certain models."),
    (400, "messages[1]: unknown variant `image_url`, expected `text`; tools and response_format are not supported"),
    (400, "Model does not support images. It does not support tools either."),
    (400, "/models/qwen is not a multimodal model"),
    (400, "At most 0 image(s) may be provided in one request."),
    (404, "No endpoints found that support image input"),
    (400, "Failed to load image or audio file"),
]


@pytest.mark.parametrize("mode", ["native", "json"])
@pytest.mark.parametrize(("status", "said"), REFUSALS)
def test_a_refusal_of_images_ends_the_run_and_teaches_nothing_else(status: int, said: str, mode: Any) -> None:
    measures = (call if mode == "native" else decision)("measure", {"what": "dot"})
    lm = ScriptedLM([error(status, said), measures, says(mode, "3 mm.")])
    agent = MicroAgent(ONE, tools=[measure], lm=lm, mode=mode, rules=[], finish="text")
    run = agent.ask("What?", image=picture())
    assert (run.status, run.mode, (run.error or {})["code"], len(lm.requests)) == ("failed", mode, "BAD_REQUEST", 1)
    assert "take a model that takes images" in (run.error or {})["message"]
    again = agent.ask("How large?", image=picture())
    assert (again.mode, again.answer) == (mode, "3 mm.")


def test_an_image_that_a_server_sends_back_in_its_error_is_on_no_record(store: TraceStore) -> None:
    told = f"cannot read {{'url': 'data:image/png;base64,{coded(png())}'}}"
    with asked([error(400, told)], traces=store) as (agent, _):
        run = agent.ask("What?", image=picture())
    assert "data:image/png;base64,…" in (run.error or {})["message"]
    assert coded(png())[:20] not in store.path(run.id).read_text()


@pytest.mark.parametrize("way", [WAYS[0], WAYS[3]], ids="-".join)
def test_a_run_is_gone_on_with_only_where_its_images_are(way: tuple[str, str], store: TraceStore) -> None:
    mode = way[1]
    sends = (call if mode == "native" else decision)("send", {"to": "Ann"})
    with asked([sends, says(mode, "Sent."), says(mode, "Again.")], way) as (agent, server):
        paused = agent.ask("Send it.", image=picture())
        assert agent.resume(paused, None).status == "confirmation_required"
        assert fork(paused, 0, agent).answer == "Sent."
        assert last(server) == [("Send it.", [coded(png())])]
    with asked([sends], way, traces=store) as (agent, server):
        paused = agent.ask("Send it.", image=picture())
        assert agent.resume(paused).status == "confirmation_required"
        store.decide(paused.id, "approve")
        with pytest.raises(ConfigurationError, match="has images, and no record keeps those: ask again with them"):
            agent.resume(paused.id)
        with pytest.raises(ConfigurationError, match="no record keeps those"):
            fork(store.peek(paused.id), 0, agent)
        assert len(server.chats) == 1
    assert [run.status for run in store.open_runs()] == ["running"]


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_turns_keep_their_images(way: tuple[str, str], store: TraceStore) -> None:
    mode = way[1]
    script = [says(mode, "A dot."), says(mode, "A grey one."), says(mode, "No.")]
    with asked(script, way, traces=store) as (agent, server):
        first = agent.ask("What is it?", image=picture(0))
        second = agent.ask("And this?", image=picture(9), history=first)
        assert last(server) == [("What is it?", [coded(png(0))]), ("And this?", [coded(png(9))])]
        before = (server.chats[0].body or {})["messages"]
        assert (server.chats[1].body or {})["messages"][: len(before)] == before
        loaded = store.load(second.id)
        assert [one.outcome for one in verify([store.load(first.id), loaded], agent)] == ["same", "same"]
        plain = MicroAgent(tools=[measure], lm=agent.lm, mode=agent_mode(mode), finish="text")
        with pytest.raises(ConfigurationError, match="ask again with them, or without a history"):
            plain.ask("Sure?", history=loaded)
        assert plain.ask("Sure?", history=second).answer == "No."
        assert [len(images) for _, images in last(server)[-3:]] == [1, 1, 0]


def agent_mode(mode: str) -> Any:
    return mode


def test_typed_turns_keep_their_images() -> None:
    gives = [call("submit", {"count": 1}), call("submit", {"count": 2})]
    with asked(gives, signature="image: dspy.Image -> count: int", finish="call") as (agent, server):
        first = agent.ask(image=picture(0))
        second = agent.ask(image=picture(9), history=first)
        assert (first.outputs, second.outputs) == ({"count": 1}, {"count": 2})
        assert [images for _, images in last(server)] == [[coded(png(0))], [coded(png(9))]]


def test_the_image_of_the_question_stays_when_earlier_turns_are_cut() -> None:
    lm = ScriptedLM([text(f"Answer {n}. " + "words and words " * 30) for n in range(12)], mode="native")
    settings = load_settings().having(context_length=4096)
    agent = MicroAgent(ONE, tools=[measure], lm=lm, rules=[], settings=settings)
    run: Run | None = None
    cuts = 0
    for number in range(8):
        run = agent.ask(f"Question {number}?", image=picture(number), history=run)
        assert run.status == "completed", run.error
        cuts += sum(step.tool == CONTEXT_TRIMMED for step in run.steps)
        asks = lm.requests[-1].messages[-1]
        assert [part.data for part in asks.parts if part.type == "image"] == [coded(png(number))]
    assert cuts >= 1
    assert [verdict.outcome for verdict in verify([run] if run else [], agent)] == ["same"]


def test_a_run_with_images_shows_nothing_to_another_model() -> None:
    with asked([call("measure", {"what": "dot"}), text("dot: 3 mm")]) as (agent, _):
        run = agent.ask("How large is it?", image=picture())
    assert showable(task_of(run), run) == []
    assert showable(task_of(run), run.model_copy(update={"images": []})) != []


def test_audio_is_still_refused() -> None:
    with pytest.raises(ConfigurationError, match="which agents do not take"):
        MicroAgent("sound: dspy.Audio -> answer")

"""`micro-agent ask --image`."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent.cli import image
from micro_agent.testing import ModelServer, text
from tests.program.test_images import png

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Command


def test_images_are_asked_about(cli: "Cli"):
    for shade in (0, 9):
        (cli.directory / f"{shade}.png").write_bytes(png(shade))
    with ModelServer([text("Two dots.")]) as server:
        options = ["--base-url", server.openai_url, "--model", "scripted", "--image", "0.png", "--image", "9.png"]
        done = cli("ask", *options, "What is it?")
        content = (server.chats[0].body or {})["messages"][-1]["content"]
    assert (done.code, done.out) == (0, "Two dots.\n")
    assert [part.get("text") for part in content] == ["What is it?", None, None]
    assert content[2]["image_url"]["url"].endswith(base64.b64encode(png(9)).decode())
    assert cli.trace()["inputs"] == {"question": "What is it?", "images": ["(image 1)", "(image 2)"]}


def test_what_is_not_an_image_is_told(command: "Command", monkeypatch: pytest.MonkeyPatch):
    Path("a.txt").write_text("words")
    done = command("ask", "--provider", "mock", "--image", "a.txt", "What?")
    assert (done.code, done.err) == (2, "micro-agent: a.txt: it is not a PNG, JPEG, GIF or WebP image\n")
    done = command("ask", "--provider", "mock", "--image", "b.png", "What?")
    assert done.err == "micro-agent: the image b.png cannot be read: No such file or directory\n"
    monkeypatch.setattr(image, "MAX_BYTES", 3)
    done = command("ask", "--provider", "mock", "--image", "a.txt", "What?")
    assert done.err == "micro-agent: the image a.txt has more than 0 MiB: make it smaller\n"

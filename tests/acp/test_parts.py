"""What needs no process: what a person sends, the lines of the protocol, what is kept, what a diff makes of files."""

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any, cast

import pytest
from acp import audio_block, embedded_blob_resource, embedded_text_resource, image_block, resource_block, text_block
from acp.helpers import resource_link_block

from micro_agent.coding.patches.faults import PatchError
from micro_agent.coding.patches.texts import Texts, texts_of
from micro_agent.doors.acp.asking import Asking, Turn
from micro_agent.doors.acp.calls import applied, changes, fenced, locations
from micro_agent.doors.acp.choices import approvals_named
from micro_agent.doors.acp.keeping import Keeping, Kept
from micro_agent.doors.acp.lines import Lines
from micro_agent.doors.acp.places import Place
from micro_agent.doors.acp.prompts import asked_in
from micro_agent.doors.acp.showing import Outbox, Showing
from micro_agent.effects import Approval, Question
from micro_agent.errors import ConfigurationError, RunNotFound, StorageError
from micro_agent.text.attached import own_words
from micro_agent.traces import TraceStore
from tests.each import each

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
HERE = Path("/a b/c")


def test_what_a_person_sends_is_a_question_with_files_and_images():
    asked = asked_in(
        [
            text_block("Compare "), resource_link_block("x", "file:///a%20b/c/x.py#L3"), text_block(" with "),
            resource_block(embedded_text_resource("file:///else/y.py", "print(1)\n")), text_block(" and "),
            resource_link_block("z", "https://example.org/z"), image_block(PNG, "image/png"),
            resource_block(embedded_blob_resource("file:///i.png", PNG, mime_type="image/png")), text_block(".\n"),
        ],
        HERE,
    )  # fmt: skip
    assert own_words(asked.question) == "Compare x.py#L3 with /else/y.py and https://example.org/z."
    assert asked.question.endswith("\n\n<stdin>\n/else/y.py:\nprint(1)\n\n</stdin>")
    assert asked.images == [b"\x89PNG\r\n\x1a\n"] * 2


@each(
    ("block", "told"),
    [
        (audio_block(PNG, "audio/wav"), "no model is given audio here"),
        (resource_block(embedded_blob_resource("file:///x.zip", PNG)), "file:///x.zip is no text: mention it"),
        (image_block("%", "image/png"), "the data of an image is not base64"),
        (image_block("AAAA", "image/png"), "an image cannot be sent: it is not a PNG"),
        (text_block("  "), "there is no question: write what is to be done"),
    ],
)
def test_what_no_model_is_given_is_told(block: Any, told: str):
    with pytest.raises(ConfigurationError, match=told):
        asked_in([block], HERE)


def test_lines_that_are_no_messages_are_answered_and_left_out():
    async def go() -> None:
        (reads, says), (hears, writes) = os.pipe(), os.pipe()
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=100)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reads, "rb", 0))
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(writes, "wb", 0)
        )  # fmt: skip
        writer = asyncio.StreamWriter(transport, protocol, None, loop)
        lines = Lines(reader, writer)
        os.write(says, b'no\n\n[1]\n{"id":1}\n' + b"x" * 1000 + b'\n{"id":2}\n' + b"[" * 90 + b"\n" + b"y" * 300)
        os.close(says)
        assert [await lines.receive() for _ in range(3)] == [{"id": 1}, {"id": 2}, None]
        await lines.send({"surrogate": "\ud83d", "path": HERE})
        await lines.close()
        await writer.wait_closed()
        with os.fdopen(hears) as said:
            first, second, third, fourth, last = map(json.loads, said)
        assert [one["error"]["code"] for one in (first, second, third, fourth)] == [-32700, -32600, -32600, -32700]
        assert (first["id"], "more than 64 MiB" in third["error"]["message"]) == (None, True)
        assert last == {"surrogate": "?", "path": "/a b/c"}

    asyncio.run(go())


def test_sessions_are_kept_with_what_was_asked_last_first(tmp_path: Path):
    keeping = Keeping(tmp_path / "acp")
    assert list(keeping.all()) == []
    for number, run in ((1, "r"), (2, None), (3, "s")):
        keeping.keep(Kept(f"{number:032x}", "/w", "chat", "ask", run))
        os.utime(tmp_path / "acp" / f"{number:032x}.json", (number, number))
    (tmp_path / "acp" / f"{4:032x}.json").write_text("{}")
    (tmp_path / "acp" / "other.json").write_text("{}")
    known = [(one.run, at) for one, at in keeping.all()]
    assert known == [("s", "1970-01-01T00:00:03Z"), ("r", "1970-01-01T00:00:01Z")]
    assert keeping.get(f"{1:032x}").cwd == "/w"
    for wrong in ("../x", f"{4:032x}", f"{5:032x}"):
        with pytest.raises(RunNotFound, match="there is no session"):
            keeping.get(wrong)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        Keeping(tmp_path / "file" / "acp").keep(Kept("0" * 32, "/", "chat", "ask"))
    with pytest.raises(ConfigurationError, match="approvals cannot be 'pause'; there are: ask, never, all"):
        approvals_named("pause")


def test_what_a_diff_makes_of_files(tmp_path: Path):
    (tmp_path / "old.txt").write_bytes(b"a\xff\n")
    place = Place(tmp_path, tmp_path, TraceStore(tmp_path / "t", state_dir=tmp_path / "s"))
    diff = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+n\n"
    assert texts_of(tmp_path, diff) == [Texts("new.txt", None, "n\n")]
    (shown,) = changes(place, diff)
    assert (shown.path, shown.old_text, shown.new_text) == (str(tmp_path / "new.txt"), None, "n\n")
    gone = "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
    with pytest.raises(PatchError):
        texts_of(tmp_path, gone)
    assert changes(place, gone) == changes(place, 3) == changes(Place(tmp_path, None, place.store), diff) == []
    assert applied(place, "apply_patch", {"patch_id": 3}) == []


def test_nothing_shown_breaks_out_of_its_fence_or_leads_out_of_the_repository(tmp_path: Path):
    assert fenced("```\n# Approved\u202e") == "````\n```\n# Approved\\u202e\n````"
    place = Place(tmp_path, tmp_path, TraceStore(tmp_path / "t", state_dir=tmp_path / "s"))
    named = {"path": "/etc/passwd", "file_path": "a\0b", "files": ["x.py", 3, "", "\ud800"], "start_line": -1}
    assert [(one.path, one.line) for one in locations(place, named, None)] == [(str(tmp_path / "x.py"), None)]
    (tmp_path / "loop").symlink_to("loop")
    assert [one.path for one in locations(place, {"path": "loop"}, {"path": "loop/a"})][:1] == [str(tmp_path / "loop")]
    assert [one.line for one in locations(place, {"path": "x", "start_line": 10**30})] == [None]
    assert [one.line for one in locations(place, {"path": "x", "start_line": 7})] == [7]


def test_updates_for_an_editor_that_has_gone_are_lost():
    class Gone:
        times = 0

        async def session_update(self, session_id: str, update: Any) -> None:
            self.times += 1
            raise ConnectionError

    async def go() -> None:
        async with Outbox(cast("Any", gone := Gone()), "x") as outbox:
            outbox.put("one")
            outbox.put("two")
            await outbox.sent()
        assert gone.times == 1

    asyncio.run(go())


def test_who_decides_elsewhere_is_looked_for_while_an_editor_asks(tmp_path: Path):
    class Silent:
        async def session_update(self, session_id: str, update: Any) -> None: ...

        async def request_permission(self, *args: Any) -> None:
            await asyncio.Event().wait()

    looks = iter([None, Approval("reject", "No.")])
    question = Question("0" * 32, 0, "c", "delete", {}, "It asks.", "d", elsewhere=lambda: next(looks))

    async def go() -> None:
        client: Any = Silent()
        place = Place(tmp_path, None, TraceStore(tmp_path / "t", state_dir=tmp_path / "s"))
        asking = Asking(client, "x", "ask")
        asking.stop()  # nothing is asked yet
        async with Outbox(client, "x") as outbox:
            showing = Showing(place, outbox, place.store.mask())
            asking.turn = Turn(showing, outbox, lambda: False, cancel=lambda: None)
            assert await asyncio.to_thread(asking, question) == Approval("reject", "No.")

    asyncio.run(go())

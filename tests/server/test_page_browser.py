"""The page in a real browser: on a phone and on a desk, in both schemes, with the keyboard alone, in two tabs."""

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page, expect

from micro_agent import Run, Step, Tool, tool
from micro_agent.coding.patches import check
from micro_agent.coding.patches.store import Patches
from micro_agent.coding.workplace import state_of
from micro_agent.page.one_file import write_run
from micro_agent.run import LMCall
from micro_agent.testing import call, text
from tests.browser import CHROMIUM, DESK, PHONE, POOR_CONTRAST, started
from tests.server.conftest import TOKEN

if TYPE_CHECKING:
    from tests.server.conftest import Serving, Start

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]
EVIL = "<img src=x onerror=alert(1)><script>alert(1)</script>"
MENDED = """I look.\n```json\n{"name": "look", "arguments": {"at": 1, 'deep': true,}\n```"""


@tool(read_only=True)
def look(at: int, deep: bool = False) -> str:
    """Look somewhere."""
    return f"found {at} {deep} {EVIL}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=30_000)  # a busy machine is not a defect
    with started() as browser:
        yield browser


class Tab:
    """A window on a server, with what it asked for elsewhere and what it complained about."""

    def __init__(self, browser: Browser, serving: "Serving", size: tuple[int, int] = DESK, **context: Any) -> None:
        window = browser.new_context(viewport={"width": size[0], "height": size[1]}, **context)
        self.page: Page = window.new_page()
        self.heard: list[str] = []
        self.base = f"http://{serving.authority}"
        self.page.on("console", lambda message: self.heard.append(message.text))
        self.page.on("pageerror", lambda error: self.heard.append(str(error)))
        self.page.on(
            "request", lambda request: None if request.url.startswith(self.base) else self.heard.append(request.url)
        )

    def at(self, path: str) -> Page:
        """The page, at a place in it."""
        self.page.goto(f"{self.base}/{path}")
        return self.page

    def close(self) -> None:
        """Close it. It must have asked for nothing elsewhere, and have complained about nothing."""
        assert self.heard == []
        self.page.context.close()


def readable(page: Page, width: int, least: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        contrast = page.evaluate(POOR_CONTRAST)
        assert contrast["poor"] == []
        assert contrast["seen"] > least


def ask(page: Page, question: str) -> None:
    field = page.get_by_placeholder("Ask a question")
    field.fill(question)
    field.press("Enter")


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_it_reads_well_and_asks_for_nothing_elsewhere(browser: Browser, start: "Start", size: tuple[int, int]) -> None:
    serving = start([text(MENDED), call("delete", {"path": EVIL}), text(f"Done {EVIL}.")], tools=[look])
    tab = Tab(browser, serving, size)
    page = tab.at("")
    ask(page, f"Look at {EVIL} {'w' * 300}")
    expect(page.get_by_role("heading", name="Waiting for your decision")).to_be_visible()
    expect(page.locator("del").first).to_be_visible()
    readable(page, size[0], 20)
    page.get_by_role("button", name="Edit").click()
    readable(page, size[0], 20)
    page.get_by_role("button", name="Discard the edit").click()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="Answer")).to_be_visible()
    readable(page, size[0], 20)
    page.get_by_role("link", name="Runs").click()
    expect(page.locator(".rows li")).to_have_count(1)
    readable(page, size[0], 5)
    assert page.locator("img, script:not([src])").count() == 0
    assert serving.deleted == [EVIL]
    tab.close()


def test_a_run_is_followed_as_it_goes(browser: Browser, start: "Start") -> None:
    going = threading.Event()

    @tool(read_only=True)
    def wait() -> str:
        """Wait."""
        going.wait(30)
        return "over"

    serving = start([call("look", {"at": 7}), call("wait", {}), text("It is 7.")], tools=[look, wait])
    tab = Tab(browser, serving)
    page = tab.at("")
    ask(page, "Look.")
    expect(page.locator(".items li")).to_have_count(3)
    expect(page.locator(".badge")).to_have_text("running")
    other = tab.page.context.new_page()  # one that comes later sees all of it, too
    other.goto(page.url)
    expect(other.locator(".items li")).to_have_count(3)
    going.set()
    for one in (page, other):
        expect(one.locator(".badge")).to_have_text("completed")
        expect(one.locator(".answer")).to_contain_text("It is 7.")
        expect(one.locator(".items li")).to_have_count(5)
    tab.close()


def test_a_run_that_another_server_holds_is_followed_and_decided(browser: Browser, start: "Start") -> None:
    going = threading.Event()

    @tool(read_only=True)
    def wait() -> str:
        """Wait."""
        going.wait(60)
        return "over"

    holder, other = start([call("wait", {}), call("delete", {"path": "a"})], tools=[wait]), start([text("Done.")])
    asked = threading.Thread(target=holder.client.post, args=("/ask",), kwargs={"json": {"question": "Tidy up."}})
    asked.start()
    tab = Tab(browser, other)
    page = tab.at("")
    for _ in range(200):
        page.get_by_role("button", name="Refresh").click()
        if page.locator(".rows a").count():
            break
    page.locator(".rows a").click()
    expect(page.locator(".badge")).to_have_text("running")
    going.set()
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".answer")).to_contain_text("Done.")
    assert (holder.deleted, other.deleted) == ([], ["a"])
    asked.join()
    tab.heard = [line for line in tab.heard if "409" not in line]
    tab.close()


def test_a_run_that_was_left_is_resumed_and_a_question_that_expired_asked_anew(
    browser: Browser, start: "Start", monkeypatch: pytest.MonkeyPatch
) -> None:
    here = threading.Event()

    async def wait() -> str:
        """Wait."""
        if not here.is_set():
            here.set()
            await asyncio.sleep(60)
        return "waited"

    going = Tool("wait", "Wait.", {"type": "object"}, wait, read_only=True)
    left = start([call("wait", {})], tools=[going])
    asked = threading.Thread(target=left.client.post, args=("/ask",), kwargs={"json": {"question": "Wait."}})
    asked.start()
    assert here.wait(30)
    (run,) = left.client.get("/runs", params={"status": "running"}).json()["runs"]
    live = left.pool.live(run["id"])
    assert live is not None
    asyncio.run_coroutine_threadsafe(left.pool.close(0), live.task.get_loop()).result(30)
    asked.join()
    monkeypatch.setenv("MICRO_AGENT_APPROVAL_TTL", "0.001")
    first = start([text("It went on."), call("delete", {"path": "a"})], tools=[going])
    tab = Tab(browser, first)
    page = tab.at(f"#/run/{run['id']}")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".answer")).to_contain_text("It went on.")
    tab.heard = [line for line in tab.heard if "409" not in line]
    tab.close()
    expired = first.client.post("/ask", json={"question": "Tidy up."}).json()["trace_id"]
    monkeypatch.delenv("MICRO_AGENT_APPROVAL_TTL")
    serving = start([text("Done.")])
    tab = Tab(browser, serving)
    page = tab.at(f"#/run/{expired}")
    page.get_by_role("button", name="Ask anew").click()
    expect(page.get_by_role("button", name="Ask anew")).to_have_count(0)
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".answer")).to_contain_text("Done.")
    assert serving.deleted == ["a"]
    tab.close()


def test_more_runs_than_one_page_has_are_shown_page_by_page(browser: Browser, start: "Start") -> None:
    serving = start()
    for number in range(70):
        serving.store.append(Run(question=f"Question {number}?", status="completed", answer="Yes."))
    tab = Tab(browser, serving)
    page = tab.at("")
    expect(page.locator(".rows li")).to_have_count(50)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".rows li")).to_have_count(70)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    assert len({row.inner_text() for row in page.locator(".rows .main").all()}) == 70
    tab.close()


def test_a_run_is_cancelled(browser: Browser, start: "Start") -> None:
    @tool(read_only=True)
    def wait() -> str:
        """Wait."""
        threading.Event().wait(1)
        return "over"

    tab = Tab(browser, start([call("wait", {})] * 50, tools=[wait]))
    page = tab.at("")
    ask(page, "Wait.")
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.locator(".badge")).to_have_text("stopped (cancelled)")
    tab.close()


def test_of_two_tabs_that_decide_one_wins_and_the_other_is_told(browser: Browser, start: "Start") -> None:
    serving = start([call("delete", {"path": "a"}), text("Done.")])
    first, second = Tab(browser, serving), Tab(browser, serving)
    page = first.at("")
    ask(page, "Tidy up.")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    other = second.at(page.url.removeprefix(f"{second.base}/"))
    expect(other.get_by_role("button", name="Reject")).to_be_visible()
    other.clock.install()  # it does not look again by itself
    other.clock.pause_at(2e12)
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".answer")).to_contain_text("Done.")
    other.get_by_role("button", name="Reject").click()
    expect(other.get_by_role("alert").first).to_contain_text("Not counted: somebody else was first")
    other.clock.run_for(5000)
    expect(other.locator(".answer")).to_contain_text("Done.")
    assert serving.deleted == ["a"]
    first.close()
    second.heard = [line for line in second.heard if "409" not in line]  # the browser's own word on a refusal
    second.close()


def test_a_call_is_edited_and_asked_about_once_more_with_the_keyboard_alone(browser: Browser, start: "Start") -> None:
    serving = start([call("delete", {"path": "a"}), text("Done.")])
    tab = Tab(browser, serving, PHONE)
    page = tab.at("")
    expect(page.get_by_placeholder("Ask a question")).to_be_visible()

    def to(name: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("(document.activeElement.labels?.[0] || document.activeElement).textContent").startswith(
                name
            ):
                return
        raise AssertionError(f"no Tab leads to {name}")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "MAIN"
    to("Question")
    page.keyboard.type("Tidy up.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    to("Edit")
    page.keyboard.press("Enter")
    page.get_by_label("Arguments to use instead").fill("{")
    page.keyboard.press("Shift+Tab")
    to("Check edited")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("The arguments are not JSON")
    page.get_by_label("Arguments to use instead").fill('{"path": "$& b"}')
    to("Check edited")
    page.keyboard.press("Enter")
    expect(page.locator(".call")).to_have_text('delete {"path": "$& b"}')
    expect(page.locator(".question")).to_contain_text('the model gave: {"path": "a"}')
    to("Approve")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_contain_text("Done.")
    assert serving.deleted == ["$& b"]
    page.locator(".row").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('li').dataset.at") == "1"
    open_before = page.evaluate("document.activeElement.ariaExpanded")
    page.keyboard.press("Enter")
    assert {open_before, page.evaluate("document.activeElement.ariaExpanded")} == {"true", "false"}
    tab.close()


def test_what_is_not_there_or_cut_off_is_told(browser: Browser, start: "Start") -> None:
    serving = start([text("word " * 2000), call("delete", {"path": "a"})])
    asked = [serving.client.post("/ask", json={"question": "?"}).json()["trace_id"] for _ in range(2)]
    tab = Tab(browser, serving)
    for path in (f"#/run/{'0' * 32}", "#/patches/patch_0123456789"):
        page = tab.at(path)
        expect(page.get_by_role("status")).to_contain_text("cannot be shown")
        expect(page.get_by_role("alert").first).to_contain_text("Close")
    page = tab.at(f"#/run/{asked[0]}")
    expect(page.locator(".answer button")).to_contain_text("characters more")
    page.locator(".answer button").click()
    expect(page.locator(".answer button")).to_have_count(0)
    page = tab.at(f"#/run/{asked[1]}")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    page.context.set_offline(True)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert").first).to_contain_text("The server cannot be reached.")
    expect(page.get_by_role("button", name="Approve")).to_be_enabled()
    page.goto("about:blank")
    tab.heard = [line for line in tab.heard if "Failed to load resource" not in line and line != "about:blank"]
    tab.close()


def test_the_token_is_asked_for_once_and_forgotten_with_the_tab(browser: Browser, start: "Start") -> None:
    serving = start([text("Hello.")], api_token=TOKEN)
    tab = Tab(browser, serving)
    page = tab.at("")
    field = page.get_by_label("Token")
    field.fill("wrong")
    field.press("Enter")
    expect(page.get_by_role("alert").last).to_have_text("The server did not take the token.")
    field.fill(TOKEN)
    field.press("Enter")
    ask(page, "Hello?")
    expect(page.locator(".answer")).to_contain_text("Hello.")
    page.reload()
    expect(page.locator(".answer")).to_contain_text("Hello.")
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    tab.heard = [line for line in tab.heard if "401" not in line]
    tab.close()


def test_patches_are_applied_undone_and_rejected(browser: Browser, start: "Start", tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "f.txt").write_text("one\n")
    queue = Patches(root, state_of(root, tmp_path / "state"))
    queue.propose(check(root, "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-one\n+two\n"), "two, please")
    tab = Tab(browser, start(queue=queue), PHONE)
    page = tab.at("")
    page.get_by_role("link", name="Patches").click()
    page.get_by_role("link", name="two, please").click()
    expect(page.locator(".diff .plus")).to_have_text("+two")
    readable(page, PHONE[0], 8)
    page.get_by_role("button", name="Approve and apply").click()
    expect(page.locator(".badge")).to_have_text("applied")
    assert (root / "f.txt").read_text() == "two\n"
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".badge")).to_have_text("undone")
    assert (root / "f.txt").read_text() == "one\n"
    three = queue.propose(check(root, "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-one\n+three\n"), "three, please")
    damaged = next(state_of(root, tmp_path / "state").rglob(f"{three.id}.json")).with_name("patch_0000000000.json")
    damaged.write_text("{")
    page.get_by_role("link", name="Patches").click()
    expect(page.locator("p.failed")).to_have_text(f"{damaged} cannot be read.")
    page.get_by_role("link", name="three, please").click()
    page.get_by_label("Reason for a rejection").fill("two is enough")
    page.get_by_role("button", name="Reject").click()
    expect(page.locator(".badge")).to_have_text("rejected")
    expect(page.get_by_text("Feedback: two is enough")).to_be_visible()
    assert (queue.get(three.id).feedback, (root / "f.txt").read_text()) == ("two is enough", "one\n")
    tab.close()


def test_runs_are_searched_and_filtered_and_the_address_keeps_it(browser: Browser, start: "Start") -> None:
    serving = start([text("A whale."), call("delete", {"path": "a"}), text("A wren.")])
    for question in ("Largest?", "Tidy up.", "Small?"):
        serving.client.post("/ask", json={"question": question})
    tab = Tab(browser, serving)
    page = tab.at("")
    expect(page.locator(".rows li")).to_have_count(3)
    expect(page.locator(".count")).to_have_text("1")
    page.get_by_placeholder("Search").fill("WHALE")
    expect(page.locator(".rows li")).to_have_count(1)
    expect(page.locator(".rows .main")).to_have_text("Largest?")
    page.reload()
    expect(page.locator(".rows li")).to_have_count(1)
    expect(page.get_by_placeholder("Search")).to_have_value("WHALE")
    page.get_by_placeholder("Search").fill("")
    page.get_by_label("Status").select_option("confirmation_required")
    expect(page.locator(".rows .main")).to_have_text("Tidy up.")
    page.get_by_label("Status").select_option("")
    expect(page.locator(".rows li")).to_have_count(3)
    tab.close()


def long_run(steps: int) -> Run:
    run = Run(question="A long one", status="stopped", termination_reason="max_steps")
    for at in range(steps):
        said: dict[str, Any] = {"text": f"I look at {at}.", "tool_calls": []}
        run.calls.append(LMCall(reply=said, decision={"tool_calls": []}, latency_s=0.5))
        run.steps.append(Step(tool="look", args={"at": at}, observation={"found": f"thing {at}"}, call=at))
    return run


def test_ten_thousand_steps_are_scrolled_through(browser: Browser, start: "Start", tmp_path: Path) -> None:
    serving, run = start(), long_run(10_000)
    serving.store.append(run)
    tab = Tab(browser, serving)
    write_run(tmp_path / "run.html", run)
    for address in (f"{tab.base}/#/run/{run.id}", (tmp_path / "run.html").as_uri()):
        page = tab.page
        page.goto(address)
        expect(page.locator("li[data-at='1']")).to_contain_text("1. look")
        page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
        middle = page.locator("li[data-at='10001']")
        expect(middle).to_contain_text("5001. look")
        assert page.locator(".items li").count() < 200
        top = middle.bounding_box()
        middle.locator(".row").click()
        expect(middle).to_contain_text("thing 5000")
        assert middle.bounding_box() is not None
        assert top is not None
        middle.locator(".row").focus()
        page.keyboard.press("End")
        expect(page.locator("li[data-at='19999']")).to_contain_text("10000. look")
        expect(page.locator("li[data-at='19999'] .row")).to_be_focused()
        page.keyboard.press("Home")
        expect(page.locator("li[data-at='0'] .row")).to_be_focused()
    tab.heard = [line for line in tab.heard if not line.startswith("file:")]
    tab.close()


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_one_file_shows_the_same_from_disk(
    browser: Browser, start: "Start", tmp_path: Path, size: tuple[int, int]
) -> None:
    serving = start([text(MENDED), text(f"Done {EVIL}.")], tools=[look])
    asked = serving.client.post("/ask", json={"question": f"Look at {EVIL}"}).json()
    write_run(tmp_path / "run.html", serving.store.load(asked["trace_id"]))
    tab = Tab(browser, serving, size)
    served = tab.at(f"#/run/{asked['trace_id']}")
    expect(served.locator(".answer")).to_contain_text("Done")
    same = served.locator("article").inner_text()
    tab.heard.clear()
    tab.page.goto((tmp_path / "run.html").as_uri())
    expect(tab.page.locator(".answer")).to_contain_text("Done")
    assert tab.page.locator("article").inner_text() == same
    readable(tab.page, size[0], 20)
    assert tab.heard == [(tmp_path / "run.html").as_uri()]
    tab.heard.clear()
    tab.close()

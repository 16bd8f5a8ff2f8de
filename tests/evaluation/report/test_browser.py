"""The report in a real browser: from disk, on a phone and on a desk, in both schemes, with the keyboard alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from micro_agent.evaluation.report import write_report
from tests.browser import CHROMIUM, DESK, PHONE, POOR_CONTRAST, started

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]

SHOWN = "() => [...document.querySelectorAll('.tasks > li')].filter(li => li.checkVisibility()).map(li => li.className)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture(scope="module")
def report(files: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    write_report(out, files[0], baseline=files[1])
    return out


def opened(browser: Browser, report: Path, size: tuple[int, int], **context: Any) -> tuple[Page, list[str]]:
    """The report in a new window, and what the page has asked for or complained about."""
    window = browser.new_context(viewport={"width": size[0], "height": size[1]}, **context)
    page, heard = window.new_page(), list[str]()
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda request: heard.append(request.url))
    page.goto(report.as_uri())
    return page, heard


@pytest.mark.parametrize("size", [PHONE, pytest.param(DESK, marks=pytest.mark.torture)], ids=["phone", "desk"])
def test_it_opens_from_disk_and_reads_well(
    browser: Browser, report: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    papers: set[str] = set()
    page, heard = opened(browser, report, size)
    page.evaluate("document.querySelectorAll('.tasks > li > details').forEach((d, i) => d.open = i < 3)")
    page.evaluate("document.querySelectorAll('.data').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        contrast = page.evaluate(POOR_CONTRAST)
        assert contrast["poor"] == []
        assert contrast["seen"] > 300
        picture = tmp_path / f"{scheme}.png"
        page.screenshot(path=picture, full_page=True)
        assert picture.stat().st_size > 50_000
    assert len(papers) == 2
    assert heard == [report.as_uri()]
    page.context.close()


def test_it_prints_light_and_without_what_cannot_be_used_on_paper(browser: Browser, report: Path) -> None:
    page, _ = opened(browser, report, DESK, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 253, 251)"
    assert not page.locator("nav").is_visible()
    assert not page.locator(".filters").is_visible()
    page.context.close()


def test_it_is_used_with_the_keyboard_alone(browser: Browser, report: Path) -> None:
    page, _ = opened(browser, report, PHONE)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the figures"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0

    every = page.evaluate(SHOWN)
    _tab_to(page, "#o-all")
    assert page.evaluate("getComputedStyle(document.activeElement.nextElementSibling).outlineStyle") == "solid"
    page.keyboard.press("ArrowRight")
    solved = page.evaluate(SHOWN)
    assert 0 < len(solved) < len(every)
    assert all("ok" in shown.split() for shown in solved)
    _tab_to(page, "#t-all")
    page.keyboard.press("ArrowRight")
    both = page.evaluate(SHOWN)
    assert 0 < len(both) < len(solved)
    assert all({"ok", "t0"} <= set(shown.split()) for shown in both)

    _tab_to(page, ".tasks > li > details > summary")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.querySelector('.trace').checkVisibility()")
    assert "Model’s answer" in page.locator(".tasks details[open] .trace").first.inner_text()
    page.context.close()


def test_a_link_opens_the_task_it_leads_to_although_the_filter_hides_it(browser: Browser, report: Path) -> None:
    page, _ = opened(browser, report, DESK)
    page.evaluate("document.querySelectorAll('.data').forEach(d => d.open = true)")
    link = page.locator("a[href^='#task-']").first
    target = page.locator(link.get_attribute("href") or "")
    page.locator("#o-ok").focus()
    page.keyboard.press("Space")
    link.focus()
    page.keyboard.press("Enter")
    assert target.is_visible()
    page.context.close()


def _tab_to(page: Page, selector: str) -> None:
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the keyboard does not reach {selector}")

"""The docs site: built strictly from the pages where they lie, in the order of `docs/index.md`, from its host alone."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, sync_playwright

pytestmark = pytest.mark.torture

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium")
FROM_ELSEWHERE = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=\"(?:https?:)?//[^\"]*\""
    r"|<link\b(?![^>]*rel=\"(?:canonical|prev|next)\")[^>]*\bhref=\"(?:https?:)?//[^\"]*\""
)


class Silent(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def build(folder: Path, to: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-c", folder / "docs", folder, to]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=550)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.fail("there is no chromium: on Debian, apt-get install chromium fonts-dejavu-core")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def test_it_has_each_page_of_the_list_in_its_order(site: Path) -> None:
    listed = re.findall(r"^- \[[^\]]+\]\(([^)#]+)\.md\)", (ROOT / "docs/index.md").read_text(), flags=re.MULTILINE)
    navigation = (
        (site / "docs/index.html").read_text().partition('<div class="sidebar-tree">')[2].partition("</div>")[0]
    )
    shown = re.findall(r'href="([^"#]+)\.html"', navigation)
    assert [name for name in shown if name in listed] == listed
    assert len(listed) > 40


def test_nothing_in_it_comes_from_elsewhere(site: Path) -> None:
    found = [match[0] for page in site.rglob("*.html") for match in FROM_ELSEWHERE.finditer(page.read_text())]
    styles = [
        (path.name, url)
        for path in site.rglob("*.css")
        for url in re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", path.read_text())
    ]
    assert (found, styles) == ([], [])


def test_a_browser_reads_and_searches_it_without_asking_elsewhere(address: str, browser: Browser) -> None:
    asked: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_url("**/docs/index.html")
    assert page.locator("h1").first.text_content(), asked
    page.goto(f"{address}/search.html?q=kettle")
    page.locator("#search-results li a").first.wait_for()
    assert {url for url in asked if not url.startswith(f"{address}/")} == set()
    page.close()


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    docs = tmp_path / "source" / "docs"
    docs.mkdir(parents=True)
    shutil.copy(ROOT / "docs/conf.py", docs)
    (docs / "index.md").write_text("# Documentation\n\n- [One](one.md): a page\n")
    (docs / "one.md").write_text("# One\n\n[x](no-page.md) [x](index.md#no-heading) ![x](no.png)\n")
    done = build(tmp_path / "source", tmp_path / "built")
    assert done.returncode == 1
    assert {word for word in ("no-page", "no-heading", "no.png") if word not in done.stderr} == set()

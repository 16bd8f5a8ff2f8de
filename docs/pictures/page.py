"""Makes docs/pictures/page.webp: a run on the page that waits for a person. Its model is scripted, all else is real."""

import shutil
import sys
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path
from threading import Thread
from time import sleep

import uvicorn
from playwright.sync_api import sync_playwright

from micro_agent import MicroAgent, Tool, tool
from micro_agent.server.app import create_app
from micro_agent.server.health import Backend
from micro_agent.server.runs import RunPool
from micro_agent.server.serve import listening, url_of
from micro_agent.server.settings import ServerSettings
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.traces import TraceStore

OUT = Path(__file__).with_suffix(".webp")
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
DIFF = """--- a/till.py
+++ b/till.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""
SMALLER = """async url => {
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  canvas.getContext('2d').drawImage(image, 0, 0);
  const blob = await canvas.convertToBlob({type: 'image/webp', quality: 0.8});
  return new Promise(done => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(blob);
  });
}"""
REPLY = """I will look at it first.
```json
{"name": "read", "arguments": {"path": 'till.py',}
```"""


@tool(read_only=True)
def read(path: str) -> str:
    """Read a file."""
    return f"def add(a, b):\n    return a - b  # {path}\n"


def main(out: Path) -> None:
    """Have a run made, and photograph it."""
    fix = Tool(
        "fix", "Fix a file.", SCHEMA, str, requires_confirmation=True,
        preview=lambda _: {"kind": "patch", "id": "patch_4be0c1f2aa", "text": DIFF},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = TraceStore(Path(folder, "traces"), state_dir=Path(folder, "state"))
        lm = ScriptedLM([text(REPLY), call("fix", {"path": "till.py"})])
        agent = MicroAgent(tools=[read, fix], lm=lm, rules=[], traces=store)
        run = agent.ask("The till subtracts what it should add: mend till.py.")
        settings, pool = ServerSettings(), RunPool(lambda _: agent, store)
        app = create_app(pool=pool, store=store, settings=settings, backend=Backend("ollama", "qwen3:4b"))
        listener = listening("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started:
            sleep(0.01)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 820, "height": 100}, color_scheme="light")
        page.goto(f"{url_of(listener)}/#/run/{run.id}")
        page.wait_for_selector(".question button")
        shot = b64encode(page.screenshot(full_page=True)).decode()
        page.goto("about:blank")
        out.write_bytes(b64decode(page.evaluate(SMALLER, f"data:image/png;base64,{shot}").partition(",")[2]))
        browser.close()
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT)

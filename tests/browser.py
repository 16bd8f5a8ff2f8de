"""What tests in a real browser share: how it is started, the sizes of windows, what is hard to read."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-default-apps", "--disable-sync", "--no-first-run",
]  # fmt: skip
PHONE, DESK = (360, 740), (1280, 900)

# Every text that shows, with the contrast of its colour on what is behind it (https://www.w3.org/TR/WCAG22/#contrast-minimum).
POOR_CONTRAST = """
() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  let seen = 0;
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter(n => n.nodeType === 3 && n.data.trim());
    if (!text.length || !element.checkVisibility({opacityProperty: true})) continue;
    const style = getComputedStyle(element);
    const color = parse(element.namespaceURI.includes('svg') ? style.fill : style.color);
    const [high, low] = [light(color), light(behind(element))].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    seen += 1;
    if (ratio < 4.5) poor.push([element.tagName, text[0].data, ratio]);
  }
  return {seen, poor};
}
"""


@contextmanager
def started() -> Generator[Browser]:
    """A browser that looks for nothing on the network by itself."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()

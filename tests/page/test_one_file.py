"""One run as one file: all of it is there, nothing is asked for, and no text of the run gets out of its place."""

import json
import re
import stat
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from micro_agent import Run, Step
from micro_agent.errors import ConfigurationError
from micro_agent.files.known_secrets import remember
from micro_agent.page.one_file import page_of, write_run
from micro_agent.run import LMCall

EVIL = "</script><script>alert(1)</script><!-- \u2028"


def digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_everything_is_in_it_and_a_policy_lets_nothing_else_run_or_load() -> None:
    page = page_of(Run(question=EVIL, steps=[Step(tool=EVIL, observation=EVIL * 50)], answer=EVIL))
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[0].replace("&#39;", "'")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert len(scripts) == 1
    assert policy == (
        f"default-src 'none'; script-src {digest(scripts[0])}; style-src {digest(style)}; base-uri 'none'; "
        "form-action 'none'"
    )
    (data,) = re.findall(r'<script type="application/json" id="run">(.*?)</script>', page, re.DOTALL)
    shown = json.loads(data)
    assert "<" not in data
    assert shown["answer"]["text"] == EVIL.replace("\u2028", "\\u2028")
    assert shown["items"][0]["observation"][0]["left"] == 0
    assert "alert(1)" not in page.replace(data, "").replace("&lt;script&gt;alert(1)", "")
    assert not re.search(r"\b(src|href)=[\"']", page.partition("<script")[0])


def test_a_secret_is_in_no_place_of_it(tmp_path: Path) -> None:
    remember("OPENAI_API_KEY", "sk-a-secret-that-nobody-sees")
    repairs = [{"kind": "python_literal", "before": "that", "after": "this"}]
    call = LMCall(reply={"text": "It is sk-a-secret-that-nobody-sees."}, repairs=repairs)
    run = Run(question="Use sk-a-secret-that-nobody-sees", answer="Done.", calls=[call])
    write_run(tmp_path / "out" / "run.html", run)
    page = (tmp_path / "out" / "run.html").read_text()
    assert "nobody-sees" not in page
    assert "sk-a-secret" not in page
    assert stat.S_IMODE((tmp_path / "out" / "run.html").stat().st_mode) == 0o600


def test_the_trace_is_not_written_over(tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    trace.write_text("{}")
    with pytest.raises(ConfigurationError, match=r"is the trace: choose another name"):
        write_run(tmp_path / "." / "run.jsonl", Run(question="?"), trace=trace)
    assert trace.read_text() == "{}"

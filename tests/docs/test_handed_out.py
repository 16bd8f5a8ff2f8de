"""What is handed out beside the package agrees with it: the image's pins, the compose file, settings of clients."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.test_docs import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def block(page: str, language: str, mark: str) -> Block:
    (found,) = [
        block
        for block in blocks((DOCS / page).read_text(encoding="utf-8"))
        if block.language == language and mark in block.content
    ]
    return found


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load(block("container.md", "yaml", "services:").content)


def pins(name: str) -> dict[str, str]:
    """The version of each package of a lock."""
    lock = (ROOT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock, flags=re.MULTILINE))


@pytest.mark.parametrize("name", ["requirements-image.txt", "requirements-build.txt"])
def test_the_image_has_the_versions_that_are_tested(name: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    tested = {**pins("requirements-dev.txt"), **dict(re.findall(r"\b(uv)==(\S+)", makefile))}
    packed = pins(name)
    assert {package for package in packed if packed[package] != tested[package]} == set()
    assert packed


def test_the_image_is_made_of_what_git_has_and_the_rest_stays_out() -> None:
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = {line[1:] for line in ignored if line.startswith("!")}
    assert "*" in ignored
    assert {name for line in copied for name in line.split()} == let_in
    assert {name for name in let_in if not (ROOT / name).exists()} == set()


def test_the_services_of_the_compose_file_belong_together(compose: dict[str, Any]) -> None:
    services: dict[str, dict[str, Any]] = compose["services"]
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            ends = how["condition"] == "service_completed_successfully"
            assert ends or "healthcheck" in services[other] or services[other].get("build") == ".", (name, other)
        assert {mount.partition(":")[0] for mount in service.get("volumes", [])} <= set(compose["volumes"])
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    agent, front = services["agent"], services["open-webui"]
    token = "${MICRO_AGENT_API_TOKEN:?set it to a long random word}"
    assert (agent["environment"]["MICRO_AGENT_API_TOKEN"], front["environment"]["OPENAI_API_KEY"]) == (token, token)
    assert front["environment"]["OPENAI_API_BASE_URL"] == "http://agent:8000/v1"
    assert agent["environment"]["MICRO_AGENT_ALLOWED_HOSTS"] == "agent"
    assert (agent["read_only"], agent["cap_drop"]) == (True, ["ALL"])


def test_the_settings_of_clients_can_be_read_and_name_the_two_doors() -> None:
    read = {"json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads}
    page = (DOCS / "clients.md").read_text(encoding="utf-8")
    settings = [block for block in blocks(page) if block.language in read]
    assert len(settings) >= 5
    for one in settings:
        assert read[one.language](one.content)
        assert set(re.findall(r"127\.0\.0\.1:\d+", one.content)) <= {"127.0.0.1:8100", "127.0.0.1:8000"}
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[2:]
    assert [
        section.splitlines()[0] for section in sections if not re.search(r"^Sources?: \[", section, re.MULTILINE)
    ] == []

"""What the environment says, and what is said about it when it is wrong."""

import os
import socket
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.errors import ConfigurationError
from micro_agent.models.addresses import (
    OLLAMA_DEFAULT_URL,
    OPENAI_PUBLIC_URL,
    http_url,
    is_public_openai,
    ollama_url,
    shown,
)
from micro_agent.models.env_file import MAX_BYTES
from micro_agent.models.settings import Settings, keep_offline, load_settings
from micro_agent.server.settings import load_server_settings


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*map(str.upper, Settings.model_fields), "OLLAMA_API_BASE", "OLLAMA_BASE_URL", "XDG_STATE_HOME"]:
        monkeypatch.delenv(name, raising=False)


def test_defaults_are_the_documented_ones() -> None:
    settings = load_settings()
    assert settings.model_dump(exclude={"micro_agent_state_dir"}) == {
        "llm_provider": None, "llm_fallback": None, "llm_timeout": 120.0, "temperature": 0.2, "max_tokens": 1024,
        "samples": 1, "resamples": 2,
        "context_length": None, "use_tool_calls": None, "openai_api_key": None, "openai_model": "gpt-4o-mini",
        "openai_base_url": OPENAI_PUBLIC_URL, "openai_input_price_per_1k": None, "openai_output_price_per_1k": None,
        "ollama_host": OLLAMA_DEFAULT_URL, "ollama_model": None, "ollama_num_ctx": 8192, "ollama_keep_alive": None,
        "ollama_think": None,
        "litellm_model": None, "compiled_demos_path": Path("opt/plan_demos.json"), "traces_dir": Path("traces"),
        "micro_agent_log": "warning", "micro_agent_finish": "auto", "tools_modules": (), "micro_agent_mcp": (),
        "micro_agent_approval_ttl": 86400.0, "gate_enabled": None, "gate_mode": None,
        "gate_max_no_progress_steps": None, "gate_warning_interval": None,
        "micro_agent_no_builtin_tools": False, "micro_agent_no_required_tools": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("LLM_PROVIDER", "Ollama", "ollama"),
        ("LLM_FALLBACK", "0", False),
        ("LLM_TIMEOUT", "7.5", 7.5),
        ("TEMPERATURE", "0", 0.0),
        ("MAX_TOKENS", " 64 ", 64),
        ("SAMPLES", "5", 5),
        ("RESAMPLES", "0", 0),
        ("USE_TOOL_CALLS", "false", False),
        ("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        ("OPENAI_INPUT_PRICE_PER_1K", "0.15", 0.15),
        ("OLLAMA_KEEP_ALIVE", "1h30m", "1h30m"),
        ("OLLAMA_KEEP_ALIVE", "-1", "-1"),
        ("OLLAMA_THINK", "0", False),
        ("TOOLS_MODULES", "a.tools, b ,", ("a.tools", "b")),
        ("MICRO_AGENT_LOG", "DEBUG", "debug"),
        ("MICRO_AGENT_STATE_DIR", "/var/x", Path("/var/x")),
    ],
)
def test_a_variable_sets_its_field(monkeypatch: pytest.MonkeyPatch, variable: str, text: str, value: object) -> None:
    monkeypatch.setenv(variable, text)
    assert getattr(load_settings(), variable.lower()) == value


def test_values_can_be_given_in_code() -> None:
    settings = Settings(tools_modules=("a", "b"), llm_provider="mock", ollama_host="box:1")
    assert (settings.tools_modules, settings.llm_provider, settings.ollama_host) == (("a", "b"), "mock", "http://box:1")


@pytest.mark.parametrize(
    ("variable", "text", "allowed"),
    [
        ("LLM_PROVIDER", "chatgpt", "one of openai, ollama, litellm, tiny, mock"),
        ("LLM_FALLBACK", "perhaps", "true or false"),
        ("TEMPERATURE", "nan", "a number from 0 to 2"),
        ("TEMPERATURE", "2.1", "a number from 0 to 2"),
        ("MAX_TOKENS", "0", "a whole number from 1"),
        ("LLM_TIMEOUT", "inf", "seconds, more than 0"),
        ("OPENAI_BASE_URL", "localhost:8080", "a URL such as"),
        ("OPENAI_OUTPUT_PRICE_PER_1K", "-1", "US dollars, 0 or more"),
        ("OLLAMA_API_BASE", "ftp://box", "host, host:port or a URL"),
        ("OLLAMA_KEEP_ALIVE", "soon", "a time such as 10m"),
        ("MICRO_AGENT_LOG", "loud", "debug, info, warning or error"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, allowed: str
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    message = str(caught.value)
    assert message.startswith(f"{variable} is '{text}'; allowed: ")
    assert allowed in message
    assert "\n" not in message


def test_all_bad_values_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPERATURE", "hot")
    monkeypatch.setenv("MAX_TOKENS", "many")
    with pytest.raises(ConfigurationError, match=r"TEMPERATURE is 'hot'.*MAX_TOKENS is 'many'"):
        load_settings()


@pytest.mark.parametrize("url", ["sk-abcdef", "http://me:secret@box/v1"])
def test_what_may_be_a_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL is not valid") as caught:
        load_settings()
    assert url[:9] not in str(caught.value)


def test_a_long_value_is_shortened() -> None:
    assert len(shown("x" * 1000)) == 62


def test_a_key_is_stripped_and_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret\n")
    settings = load_settings()
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == "sk-very-secret"
    assert "very" not in repr(settings) + str(settings) + str(settings.model_dump())


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "TEMPERATURE", "OLLAMA_HOST"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("OLLAMA_MODEL", "  ")
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://box:1")
    settings = load_settings()
    assert (settings.openai_api_key, settings.temperature, settings.ollama_model) == (None, 0.2, None)
    assert settings.ollama_host == "http://box:1"


def test_ollama_host_wins_over_its_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OLLAMA_HOST", "OLLAMA_API_BASE", "OLLAMA_BASE_URL"):
        monkeypatch.setenv(name, name.lower().replace("_", "-"))
    assert load_settings().ollama_host == "http://ollama-host:11434"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("box", "http://box:11434"),
        ("box:99", "http://box:99"),
        (":99", "http://127.0.0.1:99"),
        ("http://box:11434", "http://box:11434"),
        ("HTTP://box:11434/", "http://box:11434"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("https://box/llm", "https://box:443/llm"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:99", "http://127.0.0.1:99"),
        ("http://0.0.0.0:99", "http://127.0.0.1:99"),
        ("[::]:99", "http://[::1]:99"),
        ("::1", "http://[::1]:11434"),
        ("http://box:11434/v1", "http://box:11434"),
        ("http://box:11434/v1/", "http://box:11434"),
        ("http://box:11434/llm/v1", "http://box:11434/llm"),
        ("http://box:11434/api", "http://box:11434"),
    ],
)
def test_ollama_host_has_the_forms_that_ollama_takes(text: str, url: str) -> None:
    assert ollama_url(text) == url
    assert ollama_url(url) == url


@pytest.mark.parametrize("text", ["ftp://box", "a b", "box:port", "box:99999", "http://me:secret@box", "[::1"])
def test_what_is_no_ollama_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        ollama_url(text)
    assert "secret" not in str(caught.value)


@given(st.text(st.sampled_from(string.ascii_letters + string.digits + ":/.[]@-"), max_size=30))
def test_an_ollama_url_is_always_one_that_can_be_called(text: str) -> None:
    try:
        url = ollama_url(text)
    except ValueError:
        return
    assert http_url(url) == url


@pytest.mark.parametrize(
    "text", ["box:1/v1", "ftp://box", "http://", "http://box:0", "http://me:pw@box", "http://[::1"]
)
def test_what_is_no_http_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        http_url(text)


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("https://api.openai.com/v1", True),
        ("https://API.openai.com", True),
        ("http://127.0.0.1:1/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
    ],
)
def test_only_openais_own_address_is_public(url: str, public: bool) -> None:
    assert is_public_openai(url) is public


def test_a_dotenv_file_is_read_only_when_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("OPENAI_MODEL=from-file\nMAX_TOKENS=7\nTEMPERATURE=\nUNKNOWN=1\n")
    monkeypatch.setenv("MAX_TOKENS", "8")
    assert load_settings().openai_model == "gpt-4o-mini"
    named = load_settings(env_file=".env")
    assert (named.openai_model, named.max_tokens, named.temperature) == ("from-file", 8, 0.2)
    assert "OPENAI_MODEL" not in os.environ


def test_a_dotenv_file_need_not_exist(tmp_path: Path) -> None:
    assert load_settings(env_file=str(tmp_path / ".env")).openai_model == "gpt-4o-mini"


def test_a_dotenv_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"OPENAI_MODEL=\xff\xfe\n")
    with pytest.raises(ConfigurationError, match=r"\.env cannot be read"):
        load_settings(env_file=str(path))


@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "huge"])
def test_what_could_hold_up_the_process_is_no_dotenv_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / ".env"
    with socket.socket(socket.AF_UNIX) as bound:
        match kind:
            case "pipe":
                os.mkfifo(path)
            case "device":
                path.symlink_to("/dev/zero")
            case "socket":
                bound.bind(str(path))
            case _:
                path.write_bytes(b"#" * (MAX_BYTES + 1))
        for load in (load_settings, load_server_settings):
            with pytest.raises(ConfigurationError, match=r"\.env cannot be read: .*; move it away"):
                load(env_file=str(path))


def test_a_folder_of_that_name_is_a_virtual_environment(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    assert load_settings(env_file=str(tmp_path / ".env")).openai_model == "gpt-4o-mini"


def test_a_bad_value_in_a_dotenv_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("OLLAMA_HOST=ftp://box\n")
    with pytest.raises(ConfigurationError, match=r"^OLLAMA_HOST is 'ftp://box'"):
        load_settings(env_file=str(path))


def test_state_goes_where_xdg_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert load_settings().micro_agent_state_dir == tmp_path / "micro-agent"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings().micro_agent_state_dir == tmp_path / ".local/state/micro-agent"


def test_a_price_table_of_the_users_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "False")
    keep_offline()
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "False"


def test_settings_and_the_package_import_without_dspy() -> None:
    code = "import sys, micro_agent.models.fallback; print([m for m in ('dspy', 'litellm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

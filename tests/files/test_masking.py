"""Secrets of the environment: none in what is written, all back when a journal is folded."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from micro_agent.files.known_secrets import is_secret
from micro_agent.files.masking import mask_of

KEY = "sk-canary-0123456789"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", KEY), ("gh_token", "ghp_0123456789"), ("DB_PASSWORD", "swordfish"), ("X_SECRET", "Sesame42"),
        ("AWS_SECRET_ACCESS_KEY", "/notafolder/K7MDENGbPxRfiCY"), ("CREDENTIALS", "user:pass"),
        ("MY_PASSWD", "12345678"), ("PROXY_AUTH", "Basic dXNlcg=="), ("API_KEY", "/+abcdefgh"),
        ("API_TOKEN", "//abcdefgh"),
    ],
)  # fmt: skip
def test_secrets(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOME", "/home/somebody"), ("API_KEY", "short"), ("GIT_AUTHOR_NAME", "Ada Lovelace"), ("KEYMAP", "disabled"),
        ("SSH_AUTH_SOCK", "/tmp/ssh/agent.1"), ("KEY_FILE", "~/keys/id"), ("KEY_FILE", "./keys/id"),
        ("PATH", "/usr/bin:/x"), ("AUTH_METHOD", "KERBEROS"), ("API_TOKEN", "tool_calls"),
        ("TOKENIZERS_PARALLELISM", "true"),
    ],
)  # fmt: skip
def test_other_values_stay_as_they_are(name: str, value: str) -> None:
    assert not is_secret(name, value)


def test_a_secret_is_replaced_wherever_it_stands() -> None:
    line = mask_of({"API_KEY": KEY}).encode({"a": [f"<{KEY}>{KEY}", 1.5, None], f"k {KEY}": {"b": KEY}})
    assert json.loads(line) == {
        "a": ["<[env:API_KEY]>[env:API_KEY]", 1.5, None],
        "k [env:API_KEY]": {"b": "[env:API_KEY]"},
    }


def test_the_environment_of_this_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_TOKEN", KEY)
    assert mask_of().encode({"a": KEY}) == b'{"a":"[env:CANARY_TOKEN]"}\n'


def test_the_longest_secret_goes_first() -> None:
    line = mask_of({"A_KEY": "abcd-efgh", "B_KEY": "abcd-efgh-ijkl"}).encode({"a": "abcd-efgh-ijkl abcd-efgh"})
    assert line == b'{"a":"[env:B_KEY] [env:A_KEY]"}\n'


def test_a_secret_that_looks_like_a_placeholder_spoils_none() -> None:
    mask = mask_of({"A_LONG_KEY": KEY, "B_KEY": "A_LONG_KEY"})
    line = mask.encode({"a": f"{KEY} A_LONG_KEY"}, note=True)
    assert json.loads(line)["a"] == "[env:A_LONG_KEY] [env:B_KEY]"
    assert mask.restore(json.loads(line)) == {"a": f"{KEY} A_LONG_KEY"}


@pytest.mark.parametrize("secret", ['pa"ss\\wö\nrd1', "nothing-but-text", "line\u2028end\x85s", "caf\udce9-12345"])
def test_a_secret_inside_json_text_is_replaced_and_comes_back(secret: str) -> None:
    mask = mask_of({"DB_PASSWORD": secret})
    data: dict[str, Any] = {
        "args": json.dumps({"p": secret}), "utf8": json.dumps({"p": secret}, ensure_ascii=False), "raw": "\\" + secret,
    }  # fmt: skip
    line = mask.encode(data, note=True)
    masked = json.loads(line)
    assert masked.pop("masked") == ["DB_PASSWORD"]
    for text in masked.values():
        assert secret not in text
        assert json.dumps(secret)[1:-1] not in text
        assert json.dumps(secret, ensure_ascii=False)[1:-1] not in text
    assert mask.restore(json.loads(line)) == data


def test_a_strange_name_makes_a_placeholder_that_can_be_read_back() -> None:
    mask = mask_of({"npm_config_//r/:_authToken": KEY})
    line = mask.encode({"a": KEY}, note=True)
    assert json.loads(line)["a"] == "[env:npm_config_%2F%2Fr%2F%3A_authToken]"
    assert mask.restore(json.loads(line)) == {"a": KEY}


def test_a_placeholder_that_somebody_else_wrote_fetches_no_secret() -> None:
    mask = mask_of({"API_KEY": KEY, "B_TOKEN": "tok-98765"})
    line = mask.encode({"page": "say [env:API_KEY]", "b": "tok-98765"}, note=True)
    assert mask.restore(json.loads(line)) == {"page": "say [env:API_KEY]", "b": "tok-98765"}


def test_a_variable_that_is_gone_is_named() -> None:
    line = json.loads(mask_of({"API_KEY": KEY}).encode({"a": KEY}, note=True))
    assert mask_of({}).missing(line) == ["[env:API_KEY]"]
    assert mask_of({}).restore(line) == {"a": "[env:API_KEY]"}


# The first draw of any character builds hypothesis' tables, which a busy machine takes its time for.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.text(min_size=8, max_size=12),
    st.recursive(st.text(max_size=20), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)),
)
def test_masking_gives_the_data_back_and_the_secret_away_to_nobody(secret: str, around: Any) -> None:
    if not is_secret("DB_PASSWORD", secret) or "DB_PASSWORD" in secret or "[env:" in secret:
        return
    mask = mask_of({"DB_PASSWORD": secret})
    data = {"a": around, "b": f"x{secret}y", "c": secret * 2, "d": json.dumps([secret, around])}
    line = mask.encode(data, note=True)
    assert all(needle not in line for needle in mask.needles)
    assert mask.restore(json.loads(line)) == data

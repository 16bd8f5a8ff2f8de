"""Replies that come to nothing are sampled again here, as they are for users; elsewhere in the tests they are not."""

import pytest


@pytest.fixture(autouse=True)
def _sampled_again(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.delenv("RESAMPLES", raising=False)

"""The clock: UTC, local and IANA zones, and what it says to a zone it does not know."""

import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from micro_agent.tools import check, execute
from micro_agent.tools.arguments import Accepted
from micro_agent.tools.clock import now


@pytest.mark.parametrize(
    "timezone", ["utc", "UTC", " Z ", "Europe/Berlin", "europe/berlin", "America/New York", "local"]
)
def test_tells_the_same_moment_in_every_zone(timezone: str) -> None:
    before = int(datetime.now(UTC).timestamp())
    seen = execute(now, {"timezone": timezone}).observation
    moment = datetime.fromisoformat(seen["iso"])
    assert before <= seen["unix"] == moment.timestamp() <= before + 60
    assert (seen["date"], seen["time"]) == (moment.date().isoformat(), moment.time().isoformat())
    assert seen["weekday"][:3] in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    assert set(seen) == {"iso", "timezone", "date", "time", "weekday", "unix"}


def test_the_default_is_utc() -> None:
    assert check(now, {}) == Accepted({})
    seen = execute(now, {}).observation
    assert seen["timezone"] == "UTC"
    assert seen["iso"].endswith("+00:00")


def test_names_the_zone_it_used() -> None:
    assert execute(now, {"timezone": "asia/tokyo"}).observation["timezone"] == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("timezone", "hint"),
    [
        ("Berlin", "Europe/Berlin"),
        ("Europe/Berlim", "Europe/Berlin"),
        ("America", "America/"),
        ("?", "write it as Continent/City"),
        ("../../etc/passwd", "write it as Continent/City"),
        ("x" * 5000, "write it as Continent/City"),
    ],
)
def test_an_unknown_zone_is_answered_with_close_ones(timezone: str, hint: str) -> None:
    outcome = execute(now, {"timezone": timezone})
    assert outcome.error == "UNKNOWN_TIMEZONE"
    assert hint in outcome.observation["message"]
    assert "'utc' and 'local'" in outcome.observation["message"]


@pytest.fixture
def no_zones(tmp_path: Path) -> Iterator[None]:
    zoneinfo.reset_tzpath(to=[str(tmp_path)])
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath()
    zoneinfo.ZoneInfo.clear_cache()


@pytest.mark.usefixtures("no_zones")
def test_a_system_without_zones_is_told_apart_from_a_wrong_name() -> None:
    outcome = execute(now, {"timezone": "Europe/Berlin"})
    assert outcome.error == "TIMEZONE_DATA_MISSING"
    assert "tzdata" in outcome.observation["message"]
    assert execute(now, {"timezone": "utc"}).ok

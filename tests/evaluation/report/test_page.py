"""The report as text: what it says, what it never does, and that it can be read without seeing it."""

import re
import stat
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.evaluation.figures import Rate
from micro_agent.evaluation.report import render, write_report
from micro_agent.evaluation.report.charts import counts_chart, rates_chart
from micro_agent.evaluation.result import Check, Header, Result
from micro_agent.evaluation.summary import summarize
from micro_agent.run import POLICY_VIOLATION, Run, Step, Usage

Page = Callable[..., Any]
Make = Callable[..., Result]
EVIL = (
    '</script></style><script>alert(1)</script><svg onload="alert(2)"><img src=https://example.org/x> \u202e\x00\x1b[2J'
)


def test_the_figures_are_on_the_page_with_what_they_are_of(page: Page, result: Make) -> None:
    text = page([result("a"), result("b"), result("c"), result("d", ok=False)]).text
    for said in (
        "ollama small:1b on evals/tasks.yaml",
        "21 November 2026, 21:32 UTC",
        "75.0 % 95 % Wilson interval 30.1 to 95.4 % 3 of 4 trials",
        "Latency, mean 1.25 s",
        "Cost, mean $0.000200 $0.000800 in all",
        "Contains hit rate 75.0 %",
        "Key hit rate none asked",
        "Trials (n) 4 4 tasks, 1 epoch",
        "sums 75.0 % 30.1 to 95.4 % 3 of 4",
        "final 4 100.0 %",
    ):
        assert said in text
    assert "pass@k" not in text


def test_tasks_stand_first_when_one_failed_and_last_when_none_did(page: Page, result: Make) -> None:
    good, bad = result("a"), result("b", ok=False, task_tags=["dates"])
    for results, order in (
        ([good], ["figures", "tags", "checks", "spread", "endings", "tasks", "settings"]),
        ([good, bad], ["figures", "tasks", "tags", "checks", "spread", "endings", "settings"]),
    ):
        read = page(results)
        assert [attrs["aria-labelledby"] for attrs in read.all("section")] == order
        assert [attrs["href"][1:] for attrs in read.all("a") if attrs["href"] != "#main"] == order


def test_tags_are_folded_with_their_range_to_be_seen(page: Page, result: Make) -> None:
    good, bad = result("a"), result("b", ok=False, task_tags=["dates"])
    assert "Success by tag sums with 100.0 %. " in page([good]).text
    assert "Success by tag 2 in all, 100.0 % each. " in page([result("a", task_tags=["x", "y"])]).text
    read = page([good, bad])
    assert "Success by tag 2 in all, from sums with 100.0 % to dates with 0.0 %. " in read.text
    before = read.elements[: read.elements.index(("h2", {"id": "checks"}))]
    assert [attrs for tag, attrs in before if tag == "details"][-1] == {"class": "data"}
    assert "Success by tag Nothing to show" in page([result("a", task_tags=[])]).text


def test_what_is_unknown_is_said_to_be_unknown_and_nothing_is_free(page: Page, result: Make) -> None:
    usage = Usage(lm_calls=1, input_tokens=None, output_tokens=None, cost_usd=None, latency_s=1.0)
    step = Step(tool="now")
    text = page([result("a", run_usage=usage, run_steps=[step], models=[], seed=None, trace=None)]).text
    assert "Cost, mean unknown unknown for every trial" in text
    assert "Cost of a trial It is unknown for every trial." in text
    assert "tokens unknown · cost unknown" in text
    assert "$0" not in text
    assert "1.00 s in each of 1 trial." in text


def test_a_mean_that_is_unknown_leaves_what_is_known_beside_it(page: Page, result: Make) -> None:
    unknown = Usage(lm_calls=1, cost_usd=None, latency_s=2.0)
    text = page([result("a"), result("b", run_usage=Usage(cost_usd=0.5)), result("c", run_usage=unknown)]).text
    assert "Cost, mean unknown median $0.250, p90 $0.450; unknown for 1 trial" in text
    assert "It is unknown for 1 trial, left out here." in text


def test_a_task_shows_what_was_asked_expected_answered_checked_and_done(page: Page, result: Make) -> None:
    steps = [
        Step(tool=POLICY_VIOLATION, observation="use the calculator", ok=False, error="POLICY"),
        Step(tool="add", args={"a": "2"}, observation={"sum": 5}, latency_s=0.5, coercions=[{"path": "a", "to": 2}]),
        Step(tool="broken", ok=False),
    ]
    one = result(
        "sum-7", ok=False, task_expect_contains=None, run_steps=steps, run_answer="6 (calculator: 5)",
        task_note="a trap", score=0.5,
        run_error={"code": "X", "message": "the server went away"}, run_status="failed",
        run_termination_reason="lm_error", task_expect_number={"value": 5, "tolerance": 0.1}, task_expect_regex="^5",
        task_expect_key=["sum"], task_expect_tools=[], task_expect_observed=["add", "now"],
        task_expect_args={"now": [{"timezone": ["UTC", None]}, {"timezone": "local"}], "add": [{"a": 1}]},
        checks=[Check(name="contains", passed=False, detail="expected 5, found 6"), Check(name="key", passed=True)],
    )  # fmt: skip
    text = page([one]).text
    for said in (
        "! Error sum-7 What is 2+3? sums",
        "Expected number: 5 ± 0.1 regex: ^5 key: sum tools: none is called args: now(timezone='UTC' or nothing), "
        "now(timezone='local'), add(a=1) observed: add, now",
        "Note a trap",
        "Model’s answer 6 Answer as given 6 (calculator: 5)",
        "Ended failed (lm_error), score 0.50: the server went away",
        "✗ not met contains: expected 5, found 6 ✓ passed key",
        "⛔️policy_violation ✗ POLICY use the calculator",
        'add 0.50 s {"a": "2"} arguments read as [{"path": "a", "to": 2}] {"sum": 5}',
        "broken ✗ failed",
        "1.25 s in the run, 1.26 s on the clock · 2 model calls · 1 tool call · tokens 900 in, 40 out · cost $0.000200",
        "seed 7 · answered by small:1b",
        f"{one.run.id}, trace traces/one.jsonl",
    ):
        assert said in text


def test_a_run_without_answer_checks_or_steps_says_so(page: Page, result: Make) -> None:
    run: dict[str, Any] = {
        "run_answer": None,
        "run_model_answer": None,
        "run_steps": [],
        "run_termination_reason": None,
    }
    text = page([result("a", ok=False, checks=[], **run)]).text
    assert "Model’s answer none Ended completed (under way), score 0.00 Checks none made Steps none" in text


def test_all_epochs_are_shown_and_the_first_failure_is_open(page: Page, result: Make) -> None:
    results = [result("a"), result("a", epoch=1, ok=False), result("b"), result("b", epoch=1)]
    read = page(results)
    assert "± 1 of 2 succeeded a" in read.text
    assert "✓ 2 of 2 succeeded b" in read.text
    assert "k pass@k: one of k succeeds pass^k: all k succeed 1 75.0 % 75.0 % 2 100.0 % 50.0 %" in read.text
    trials = [attrs for attrs in read.all("details") if attrs.get("class") == "trial"]
    assert ["open" in attrs for attrs in trials] == [False, True, True, False]


def test_of_two_results_of_a_trial_the_later_one_counts(result: Make, header: Callable[..., Header]) -> None:
    results = [result("a", ok=False), result("a")]
    of = header(results)
    shown = render(of, summarize(of, results[1:]), results)
    assert "✓ Succeeded" in shown
    assert "✗ Failed" not in shown


def test_long_texts_are_cut_with_a_note_and_the_more_trials_the_sooner(
    page: Page, parsed: Page, result: Make, header: Callable[..., Header]
) -> None:
    long = result("a", run_steps=[Step(tool="read", observation="x" * 5000)], task_question="why " * 200)
    assert "x" * 2000 + " … 3,000 more characters; the whole is in the result file" in page([long]).text
    endless = result("b", run_steps=[Step(tool="again")] * 75)
    assert "… 15 more steps; all are in the result file" in page([endless]).text
    of = header([long])
    summary = summarize(of, [long]).model_copy(update={"n": 5000})
    several = parsed(render(of, summary, [long])).text
    assert "x" * 400 + " … 4,600 more characters" in several
    assert "why " * 100 + "… 400 more characters" in several


def test_what_text_of_others_says_is_not_done(page: Page, result: Make) -> None:
    harmless = page([_everywhere(result, "fine")], **_header_with("fine"))
    hostile = page([_everywhere(result, EVIL)], **_header_with(EVIL))
    assert Counter(tag for tag, _ in hostile.elements) == Counter(tag for tag, _ in harmless.elements)
    assert not hostile.all("script")
    assert not hostile.all("img")
    assert not [name for _, attrs in hostile.elements for name in attrs if name.startswith("on")]
    assert hostile.text.count("<script>alert(1)</script>") >= 10
    assert "\\u202e\\x00\\x1b[2J" in hostile.text
    assert not re.search("[\u202e\x00\x1b]", hostile.text)


def test_half_a_character_of_a_tool_is_shown_and_can_be_written(page: Page, result: Make) -> None:
    read = page([result("a", run_steps=[Step(tool="read", observation={"name": "caf\ud800"})])])
    assert "caf\\ud800" in read.text
    read.text.encode()


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(str.strip))
def test_any_text_is_text(page: Page, result: Make, text: str) -> None:
    read = page([_everywhere(result, text)], **_header_with(text))
    assert not read.faults
    assert {"script", "img", "iframe", "a", "b", "i"} & {tag for tag, _ in read.elements} == {"a", "b"}
    read.text.encode()


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("max_steps", "max_steps"),
        ("a_reason_that_takes_much_room", "a_reason_that_ta…"),
        ("odd \ufffe", "odd \ufffe"),  # ends the process that draws, if it is handed on
        ("back\\", "back\\"),
        ("日本語の長い名前です", "日本語の長い名…"),
        ("row1", "row1"),
    ],
)
def test_a_name_in_a_chart_is_cut_to_its_column(parsed: Page, name: str, label: str) -> None:
    drawn = parsed(str(counts_chart({name: 2, "other": 1}, title="Reasons", description="none")))
    assert [data for tag, data in drawn.texts if tag == "text"] == [label, "other", "2", "1"]


def test_a_chart_of_rates_has_a_line_for_all_only_when_that_is_known(parsed: Page) -> None:
    rates = {"sums": Rate(hits=1, n=2, value=0.5, low=0.1, high=0.9)}
    alone = parsed(str(rates_chart(rates, title="Success", description="none")))
    beside = parsed(str(rates_chart(rates, title="Success", description="none", overall=0.5)))
    assert (len(_dashed(alone)), len(_dashed(beside))) == (0, 1)


def _dashed(drawn: Any) -> list[str]:
    return [attrs["stroke-dasharray"] for attrs in drawn.all("line") if "stroke-dasharray" in attrs]


def _everywhere(result: Make, text: str) -> Result:
    step = Step(
        tool=text, args={text: text}, observation={text: [text]}, ok=False, error=text, coercions=[{text: text}]
    )
    return result(
        "a", ok=False, task_question=text, task_expect_contains=[text], task_note=text,
        task_expect_regex=re.escape(text),
        run_steps=[step], run_model_answer=text, run_answer=f"{text}!", run_termination_reason=text, run_provider=text,
        run_model=text, run_error={"message": text}, models=[text], trace=text,
        checks=[Check(name=text, passed=False, detail=text)],
    )  # fmt: skip


def _header_with(text: str) -> dict[str, Any]:
    return {"dataset": text, "ts": text, "settings": {"model": text, text: text}}


def test_the_page_loads_nothing_runs_nothing_and_styles_itself_only(page: Page, result: Make) -> None:
    read = page([result("a"), result("b", ok=False)], baseline=[result("a", ok=False), result("b", ok=False)])
    assert not [tag for tag, _ in read.elements if tag in ("script", "link", "img", "iframe", "object", "base", "form")]
    ids = {attrs["id"] for _, attrs in read.elements if "id" in attrs}
    for _, attrs in read.elements:
        assert not {"src", "srcset", "style", "action", "poster", "xmlns", "xlink:href"} & attrs.keys()
        assert not [value for value in attrs.values() if "url(" in value]
        if "href" in attrs:
            assert attrs["href"].removeprefix("#") in ids
    style = next(data for tag, data in read.texts if tag == "style")
    assert "url(" not in style
    assert "@import" not in style
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = next(attrs["content"] for attrs in read.all("meta") if attrs.get("http-equiv"))
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_charts_take_every_colour_from_the_scheme_of_the_page(page: Page, result: Make) -> None:
    times = [Usage(cost_usd=cost, latency_s=10 * cost) for cost in (0.1, 0.2)]
    results = [result(f"t{number}", run_usage=usage) for number, usage in enumerate(times)]
    read = page(results, baseline=[result("t0"), result("t1", ok=False)])
    colors = {attrs[name] for _, attrs in read.elements for name in ("fill", "stroke") if name in attrs}
    assert {color for color in colors if not color.startswith("var(--")} <= {"none", "transparent"}
    assert len(read.all("svg")) == 6


def test_the_page_can_be_read_without_seeing_it(page: Page, files: tuple[Path, Path], result: Make) -> None:
    read = page([result("a", ok=False), result("b"), result("b", epoch=1)], baseline=[result("a"), result("b")])
    assert not read.faults
    tags = Counter(tag for tag, _ in read.elements)
    assert (tags["main"], tags["h1"], tags["nav"], tags["header"], tags["footer"]) == (1, 1, 1, 1, 1)
    assert read.all("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert tags["caption"] == tags["table"]
    assert {attrs.get("scope") for attrs in read.all("th")} == {"row", "col"}
    charts = read.all("svg")
    assert len(charts) == tags["title"] - 1 == tags["desc"] > 0
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    ids = [attrs["id"] for _, attrs in read.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {attrs["aria-labelledby"] for attrs in read.all("section")} <= set(ids)


@pytest.mark.parametrize(
    ("now", "before", "verdict"),
    [
        ([1] * 30, [0] * 30, "This eval is better than the baseline on tasks like these."),
        ([0] * 30, [1] * 30, "This eval is worse than the baseline on tasks like these."),
        ([1, 0] * 9, [0, 1] * 9, "These tasks do not show which is better: the interval of the difference contains 0."),
        ([1] * 5 + [0] * 20, [0] * 25, "Weak evidence that this eval is better than the baseline"),
    ],
)  # fmt: skip
def test_a_comparison_claims_no_more_than_it_shows(
    page: Page, result: Make, now: list[int], before: list[int], verdict: str
) -> None:
    results, baseline = ([result(f"t{i}", ok=bool(ok)) for i, ok in enumerate(oks)] for oks in (now, before))
    assert verdict in page(results, baseline=baseline).text


def test_a_comparison_shows_what_changed_and_leads_to_it(page: Page, result: Make) -> None:
    ours = [result("up"), result("down", ok=False), result("same"), result("new"), result("reworded"), result("bare")]
    changed = result("reworded", task_expect_contains=["7"])
    long = result("down", task_question="so long " * 30)
    baseline = [result("up", ok=False), long, result("same"), changed, result("gone"), result("bare", task_tags=["x"])]
    ours[1] = result("down", ok=False, task_question="so long " * 30)
    read = page(ours, baseline=baseline)
    for said in (
        "on 4 tasks in both",
        "Left out: 1 task only in the baseline.",
        "Left out: 1 task only in this eval.",
        "Left out: 1 task with another question or expectation.",
        "Lost: 1 task Task Baseline This eval Question down ✓ succeeded, final ✗ failed, final so long",
        "Gained: 1 task Task Baseline This eval Question up ✗ failed, final ✓ succeeded, final What is 2+3?",
        "Settings that differ Setting Baseline This eval model other:1b small:1b",
        "Baseline: evals/tasks.yaml, ollama other:1b",
        "Success rate 75.0 % 75.0 % +0.0 points",
    ):
        assert said in read.text
    links = [attrs["href"] for attrs in read.all("a") if attrs["href"].startswith("#task-")]
    assert links == ["#task-2", "#task-1"]
    classes = [
        attrs["class"].split() for attrs in read.all("li") if "class" in attrs and "t0" in attrs["class"].split()
    ]
    assert ["gained" in found for found in classes] == [True, False, False, False, False, False]
    assert ["lost" in found for found in classes] == [False, True, False, False, False, False]


def test_the_tags_of_a_baseline_stand_by_their_change_the_largest_loss_first(page: Page, result: Make) -> None:
    def trials(**solved: tuple[bool, ...]) -> list[Result]:
        return [
            result(f"{tag}-{number}", ok=ok, task_tags=[tag])
            for tag, outcomes in solved.items()
            for number, ok in enumerate(outcomes)
        ]

    before = trials(same=(True, True), worst=(True, True), better=(False, True), worse=(False, True))
    after = trials(same=(True, True), worst=(False, False), better=(True, True), worse=(False, False))
    read = page(after, baseline=before)
    assert (
        "Success by tag, in figures Tag Baseline This eval Difference worst 100.0 % 0.0 % −100.0 points "
        "worse 50.0 % 0.0 % −50.0 points same 100.0 % 100.0 % +0.0 points better 50.0 % 100.0 % +50.0 points"
    ) in read.text
    drawn = [text for tag, text in read.texts if tag == "text" and text in ("same", "worst", "better", "worse")]
    assert drawn[:4] == ["worst", "worse", "same", "better"]
    assert "Success by tag, largest loss first." in read.text


def test_shares_that_changed_are_said_as_shares_and_many_are_cut(page: Page, result: Make) -> None:
    ours = [result(f"t{i}", epoch=epoch) for i in range(60) for epoch in (0, 1)]
    baseline = [result(f"t{i}", epoch=epoch, ok=epoch == 0) for i in range(60) for epoch in (0, 1)]
    text = page(ours, baseline=baseline).text
    assert "Gained: 60 tasks, the first 50" in text
    assert "± 50.0 %, final ✓ succeeded, final" in text


def test_nothing_in_common_is_nothing_to_say(page: Page, result: Make) -> None:
    same = {"settings": {"provider": "ollama", "model": "other:1b"}}
    text = page([result("a", task_tags=[])], baseline=[result("b", task_tags=[])], **same).text
    assert "Nothing can be said of the difference." in text
    assert "Nothing to show: no trial has one." in text
    assert "Settings that differ" not in text


def test_a_reader_is_warned_of_what_is_not_as_asked(page: Page, result: Make) -> None:
    asked = {"settings": {"provider": "ollama", "model": "big:70b"}}
    assert (
        "Asked for ollama big:70b; the server said that ollama small:1b answered." in page([result("a")], **asked).text
    )
    named = {"settings": {"provider": "ollama", "model": "ollama/small:1b"}}
    assert "Asked for" not in page([result("a")], **named).text
    down = page([result("a", ok=False, models=[]), result("b", ok=False, models=[])], **named).text
    assert "ollama small:1b on evals/tasks.yaml" in down
    assert "Note No model answered in 2 trials." in down
    mixed = page([result("a"), result("b"), result("c", models=["other:1b"])]).text
    assert "Several models answered: the figures mix them." in mixed
    assert "ollama small:1b (2 trials); ollama other:1b (1 trial)" in mixed
    partial = page([result("a")], tasks=["a", *(f"later-{i}" for i in range(60))], settings={})
    assert "Not complete: 60 trials of 61 without a result." in partial.text
    assert "No result yet: later-0, later-1," in partial.text
    assert "later-49 and 10 more" in partial.text


def test_an_eval_without_results_has_a_page(page: Page) -> None:
    read = page([], tasks=["a"])
    assert not read.faults
    assert "No run has ended." in read.text
    assert "No result yet: a" in read.text


def test_the_page_is_written_in_one_step_for_this_user_alone(files: tuple[Path, Path], tmp_path: Path) -> None:
    results, baseline = files
    out = tmp_path / "new" / "report.html"
    write_report(out, results)
    alone = out.read_text("utf-8")
    assert "Against the baseline" not in alone
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    write_report(out, results, baseline=baseline)
    assert "Against the baseline" in out.read_text("utf-8")
    assert [path.name for path in out.parent.iterdir()] == ["report.html"]


def test_a_page_that_cannot_be_written_leaves_nothing_behind(files: tuple[Path, Path], tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    with pytest.raises(StorageError, match=r"cannot write the page .*taken: .*; choose another place for it"):
        write_report(taken, files[0])
    assert list(tmp_path.iterdir()) == [taken]


def test_a_report_never_replaces_a_result_file(files: tuple[Path, Path]) -> None:
    results, baseline = files
    before = baseline.read_bytes()
    with pytest.raises(ConfigurationError, match="is a result file: choose another name for the report"):
        write_report(baseline.parent / "." / baseline.name, results, baseline=baseline)
    assert baseline.read_bytes() == before


def test_without_the_extra_the_error_says_what_to_install(
    files: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    result: Make,
    header: Callable[..., Header],
) -> None:
    of = header([result("a")])
    summary = summarize(of, [])
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(
        ConfigurationError, match=r"vl_convert is not installed: install the extra, with pip install '\.\[report\]' in"
    ):
        write_report(tmp_path / "report.html", files[0])
    with pytest.raises(ConfigurationError, match=r"\.\[report\]"):
        render(of, summary, [])


def test_costs_that_are_all_the_same_need_no_chart(page: Page, result: Make) -> None:
    results = [result(name, run_usage=Usage(cost_usd=0.0, latency_s=seconds)) for name, seconds in (("a", 1), ("b", 2))]
    text = page(results).text
    assert "$0 in each of 2 trials." in text
    assert "Latency of a trial: the figures" in text


def test_a_run_of_a_newer_version_is_shown_as_far_as_it_is_known(page: Page, result: Make) -> None:
    one = result("a")
    newer = one.model_copy(update={"run": Run.model_validate({**one.run.model_dump(), "later": {"a": 1}})})
    assert "✓ Succeeded a" in page([newer]).text

"""The figures of an eval as Markdown: what is said, and that no name in them becomes markup."""

from markdown_it import MarkdownIt

from micro_agent.evaluation.markdown import markdown_lines
from micro_agent.evaluation.result import Check, Header, Result
from micro_agent.evaluation.task import ExpectedNumber, Task
from micro_agent.run import Run, Usage

HOSTILE = "a|b\n`c` *d* <img src=x> [e](http://f) </pre>"


def result(task: str, *, ok: bool, check: str = "number", epoch: int = 0) -> Result:
    return Result(
        task=Task(id=task, question="?", expect_number=ExpectedNumber(value=5), tags=["easy"]), epoch=epoch,
        run=Run(question="?", status="completed", usage=Usage(latency_s=1.5, cost_usd=0.25)),
        checks=[Check(name=check, passed=ok, detail="no 5 </pre><script>")], score=float(ok), success=ok, trace=None,
    )  # fmt: skip


def lines(*results: Result, epochs: int = 1) -> list[str]:
    names = list(dict.fromkeys(one.task.id for one in results))
    header = Header(dataset="t.yaml", dataset_sha256="0" * 64, tasks=names, epochs=epochs)
    return list(markdown_lines(header, results))


def test_a_headline_a_table_and_what_failed():
    said = lines(result("t0", ok=True), result("t1", ok=False))
    assert said[:8] == [
        "### Success rate 50.0 %",
        "",
        "2 tasks, answered by unknown unknown.",
        "",
        "| | rate | passed | 95 % interval |",
        "|---|--:|--:|--:|",
        "| all | 50.0 % | 1 of 2 | 9.5 % to 90.5 % |",
        "| tag easy | 50.0 % | 1 of 2 | 9.5 % to 90.5 % |",
    ]
    assert "Seconds a run: 1.50; cost: 0.5000 USD." in said
    assert "<details><summary>failed: 1 of 2 tasks</summary>" in said
    assert "  t1  number: no 5 &lt;/pre&gt;&lt;script&gt;" in said


def test_where_all_is_well_nothing_is_folded_away_and_epochs_are_named():
    said = lines(result("t0", ok=True), result("t0", ok=True, epoch=1), result("t1", ok=False), epochs=2)
    assert said[2].startswith("2 tasks, 2 epochs, ")
    assert "1.50 of 2" in said[6] or "2 of 3" in said[6]
    assert not any("details" in line for line in lines(result("t0", ok=True)))


def test_of_no_result_nothing_is_made_up():
    said = lines()
    assert said[0] == "### Success rate unknown"
    assert said[2] == "0 tasks, answered by nobody."
    assert "| all | unknown | 0 of 0 | unknown to unknown |" in said


def test_no_name_becomes_markup():
    said = "\n".join(lines(result("t", ok=False, check=HOSTILE)))
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(said)
    assert "check a|b `c` *d* &lt;img src=x&gt; [e](http://f) &lt;/pre&gt;" in page
    assert ("<img" in page, "<em>" in page, "<a " in page, "<script" in page) == (False, False, False, False)

"""`ralph report`: the facts of a run as a page to share, with nothing in it that runs or leaks."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ralph_tui.domain import events as ev
from ralph_tui.domain.formatting import took
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.present.events.run_result import exit_summary, result_facts
from ralph_tui.present.sections.history_totals import forecast_of, totals
from ralph_tui.present.sections.run_report import RunReport, report_markdown
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.store.project import Project
from ralph_tui.tui.commands.registry import DEFAULT_KEYS
from tests.cli.processes import inside
from tests.harness.model import serving_in_thread
from tests.harness.projects import make_project, task
from tests.harness.real_processes import ralph_environment
from tests.harness.scenarios import finishes, scenario

KEY = "ghp_" + "a1B2" * 6  # only the form of a key
HOSTILE = f"<script>alert(1)</script> [x](javascript:y) ![i](http://a.b/c) | {KEY} \x1b[31m"

ENDED = ev.LoopFinished(
    status=LoopStatus.STOPPED,
    reason="stopped by you",
    exit_code=1,
    iterations=1,
    cost_usd=0.5,
    seconds=75,
    files_changed=3,
    lines_added=214,
    lines_removed=12,
    start_command="uv run python -m app_1.x",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Work on the unnamed plan, then a run of another feature, which the report leaves out."""
    done = task("t1", status="complete", actual_cost_usd=0.5, actual_tokens_used=1500)
    done["verification"] = {"outcome": "verified", "reason": "1 check passed"}
    root = make_project(tmp_path, [done, task("t2", description=HOSTILE)])
    state = {"request": f"Count streaks\n{HOSTILE}", "total_cost_usd": 0.75}
    (root / ".ralph/state.json").write_text(json.dumps(state), encoding="utf-8")
    passed = Receipt(
        command=f"uv run pytest {HOSTILE}",
        source="criterion",
        status=ReceiptStatus.PASSED,
        seconds=0.4,
    )
    failed = passed.model_copy(update={"status": ReceiptStatus.FAILED})
    building = {"project": "p", "phase": Phase.BUILDING}
    told: list[ev.Event] = [
        ev.LoopStarted(run_id="a", **building),
        ev.IterationStarted(iteration=1, task_id="t1"),
        ev.GateFinished(task_id="t1", passed=False, receipts=(failed, failed)),
        ev.ToolDenied(tool_id="c", name="Bash", rule="git-write", part=HOSTILE, reason="read-only"),
        ev.GateFinished(task_id="t1", passed=True, receipts=(passed,)),
        ev.IterationFinished(
            iteration=1,
            task_id="t1",
            outcome=IterationOutcome.COMPLETE,
            cost_usd=0.5,
            seconds=61.5,
            files_changed=("src/app.py",),
        ),
        ENDED,
        ev.LoopStarted(run_id="b", feature="other", **building),
        ev.IterationStarted(iteration=2, task_id="t1"),
        ev.GateFinished(task_id="t1", passed=False, receipts=(failed, failed)),
        ev.LoopFinished(status=LoopStatus.ERROR, reason="of the other", exit_code=3),
    ]
    numbered = (event.model_copy(update={"seq": seq}) for seq, event in enumerate(told, 1))
    text = "".join(event.model_dump_json() + "\n" for event in numbered)
    (root / ".ralph/events.jsonl").write_text(text, encoding="utf-8")
    return root


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [name for name, _ in attrs if name in ("src", "href", "style", "onload")]


def test_programs_get_the_facts_of_this_feature_alone(project: Path) -> None:
    found = json.loads(inside("report", "--json", cwd=project).stdout)
    assert (found["complete"], found["cost_usd"], found["seconds"]) == (1, 0.75, 75)
    assert found["ending"] == "stopped by you"
    assert [line["iteration"] for line in found["timeline"]] == [1]
    first, second = found["tasks"]
    assert [check["result"] for check in first["checks"]] == ["passed"]
    assert (first["outcome"], first["cost_usd"], second["checks"]) == ("verified", 0.5, [])
    assert [line["rule"] for line in found["denied"]] == ["git-write"]
    assert found["files"] == ["src/app.py"]


def test_the_page_runs_nothing_loads_nothing_and_tells_no_secret(project: Path) -> None:
    done = inside("report", "--html", "report.html", cwd=project)
    assert done.returncode == 0, done.stderr
    page = (project / "report.html").read_text(encoding="utf-8")
    found = _Tags(page)
    assert not found.tags & {"script", "img", "a", "link", "iframe", "object"}
    assert found.links == []
    assert KEY not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<strong>Built:</strong> 1 of 2 tasks, 3 files, +214 -12 lines</li>" in page
    assert "<strong>Verified:</strong> 1 verified by checks</li>" in page
    assert "<code>uv run python -m app_1.x</code>" in page


def test_the_report_says_what_the_screen_and_the_shell_say(project: Path) -> None:
    page = inside("report", cwd=project).stdout
    plan = Project(project).load().plan
    facts = result_facts(plan.tasks, ENDED)
    result = page.partition("## Result")[2].partition("##")[0]
    assert "Stopped by you." in result
    said = re.findall(r"- \*\*(.+):\*\* (.*)", result)
    assert {name: re.sub(r"[\\`]", "", text) for name, text in said} == {
        name: text.replace("`", "") for name, text in facts.items()
    }
    assert "**Try it:** `uv run python -m app_1.x`" in result
    assert "`ralph status`" in result
    view = reduce(LoopView(), ev.PlanLoaded(tasks=plan.tasks))
    assert [line.strip() for line in exit_summary(view, ENDED)[1:]] == [
        f"{name:<9} {text}" for name, text in facts.items()
    ]
    past = JournalLibrary(project, feature=lambda: "").refresh()
    shown = str(totals(past, forecast_of(past, None), 100, UNICODE, DEFAULT_KEYS)[0])
    assert took(75) in shown, "as long as the report says, and not as its iterations"


LINES = st.text(
    st.sampled_from("ab 12.:;#+-=_*~`<>[]()!|&@\\/{}$^w"), min_size=1, max_size=12
).filter(lambda text: text == " ".join(text.split()) and text.strip())


@given(LINES)
def test_any_line_is_shown_as_it_is(line: str) -> None:
    page = report_markdown(RunReport(project="p", request=line))
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = reader.parse(page.partition("## Request")[2].partition("## Result")[0])
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"], page
    pieces = tokens[1].children or []
    assert {piece.type for piece in pieces} <= {"text", "text_special"}, page
    assert "".join(piece.content for piece in pieces) == line


@pytest.mark.parametrize("line", ["src/app.py", "10:30:45, $1.21, +214 -12 lines", "v1.2_3 (a; b)"])
def test_harmless_signs_have_no_backslash(line: str) -> None:
    assert line in report_markdown(RunReport(project="p", request=line))


def test_no_text_becomes_markup_in_markdown(project: Path) -> None:
    page = inside("report", cwd=project).stdout
    assert KEY not in page
    assert not re.search(r"(?<!\\)<script|(?<!\\)\[x|(?<!\\)!\\?\[i", page)
    widths = [len(re.findall(r"(?<!\\)\|", row)) for row in page.splitlines() if row[:1] == "|"]
    assert set(widths) == {7, 2, 6, 5}


def test_an_older_report_is_replaced_and_no_other_file(project: Path) -> None:
    for form in ("--html", "--markdown"):
        assert inside("report", form, "page", cwd=project).returncode == 0
    mine = project / "mine.html"
    mine.write_text("my own page", encoding="utf-8")
    refused = inside("report", "--html", "mine.html", cwd=project)
    assert refused.returncode == 3
    assert "is not a report" in refused.stderr
    assert mine.read_text(encoding="utf-8") == "my own page"
    assert inside("report", "--html", ".ralph", cwd=project).returncode == 3
    assert inside("report", "--html", "no/such/page", cwd=project).returncode == 3
    assert inside("report", "--html", "x", "--json", cwd=project).returncode == 3


def test_a_project_without_a_run_says_so(tmp_path: Path) -> None:
    page = inside("report", cwd=make_project(tmp_path)).stdout
    assert "There is no plan yet" in page
    assert "has not been validated" in page


@pytest.mark.usefixtures("played_cli")
def test_all_pages_tell_the_same_numbers_after_a_run(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("a", verification_criteria=["$ test -f a.txt"])], ())
    with serving_in_thread(scenario(finishes("a"))) as server:
        environ = ralph_environment(server, tmp_path)
        ran = inside("build", "--headless", cwd=root, environ=environ)
    assert ran.returncode == 0, ran.stderr
    pages = ("report", "status", "tasks", "history")
    read = [json.loads(inside(page, "--json", cwd=root).stdout) for page in pages]
    report, state, (done,), (session,) = read[0], read[1]["state"], read[2], read[3]
    costs = [report["cost_usd"], state["total_cost_usd"], state["session_cost_usd"]]
    costs += [done["actual_cost_usd"], session["cost_usd"], report["timeline"][0]["cost_usd"]]
    assert costs[0] > 0
    assert costs == [costs[0]] * 6
    tokens = [done["actual_tokens_used"], session["tokens_used"], state["total_tokens_used"]]
    assert tokens == [tokens[0]] * 3
    assert [report["project"], *report["files"]] == [root.name, "a.txt"]
    assert report["facts"]["Built"] == "1 of 1 task, 1 file, +1 -0 lines"

"""Answers, specs and reports: what counts as whole."""

import re

import pytest

from ralph_tui.domain.documents.questions import (
    Answer,
    GivenAnswers,
    Option,
    Permission,
    Question,
    parse_answer,
    slip,
)
from ralph_tui.domain.documents.specs import Spec
from ralph_tui.domain.documents.validation_report import (
    CriterionResult,
    SpecResult,
    ValidationReport,
    rejection_task,
    repair_tasks,
    report_problems,
)
from ralph_tui.domain.permissions import parse_ruling, permission_question
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus

ONE = Question(question="Which?", header="Kind", options=(Option(label="A"), Option(label="B, c")))
MANY = ONE.model_copy(update={"multi_select": True})


@pytest.mark.parametrize(
    ("question", "typed", "labels", "other"),
    [
        (ONE, "1", ("A",), ""),
        (ONE, "b, C", ("B, c",), ""),
        (ONE, "3", (), "3"),
        (ONE, "neither of them", (), "neither of them"),
        (ONE, "²", (), "²"),
        (MANY, "1, a", ("A", "A"), ""),
        (MANY, "1, 2", ("A", "B, c"), ""),
        (MANY, "1, something else", (), "1, something else"),
    ],
)
def test_typed_answers(question: Question, typed: str, labels: tuple[str, ...], other: str) -> None:
    answer = parse_answer(question, typed, by="terminal")
    assert (answer.labels, answer.other) == (labels, other)


@pytest.mark.parametrize(
    ("question", "typed", "said"),
    [
        (MANY, "1, 3", "There is no option 3. Choose 1 to 2."),
        (MANY, "a, 0", "There is no option 0. Choose 1 to 2."),
        (MANY, "1, 2", ""),
        (MANY, "1, something else", ""),
        (MANY, "12", ""),  # an answer of one's own
        (ONE, "3", ""),
        (ONE, "1, 3", ""),
    ],
)
def test_a_slip_in_a_list_of_choices(question: Question, typed: str, said: str) -> None:
    assert slip(question, typed) == said


def test_prepared_answers_are_found_by_text_then_header() -> None:
    assert GivenAnswers(answers={"Which?": "A"}).to(ONE) == Answer(labels=("A",), by="file")
    assert GivenAnswers(answers={"Kind": "2"}).to(ONE) == Answer(labels=("B, c",), by="file")
    assert GivenAnswers(answers={"Other": "A"}).to(ONE) is None


WHOLE = """# X
## Problem Statement
It hurts.
## Success Criteria
- fast
## Constraints and Non-Goals
- none
## Acceptance Criteria
- [ ] one
- [x] two
"""


def test_a_whole_spec_and_its_criteria() -> None:
    spec = Spec(name="x.md", text=WHOLE)
    assert spec.problems() == ()
    assert spec.criteria == ("one", "two")


@pytest.mark.parametrize(
    "section", ["Problem Statement", "Success Criteria", "Constraints", "Acceptance Criteria"]
)
def test_each_missing_section_is_named(section: str) -> None:
    text = re.sub(rf"## {section}.*", "## Other", WHOLE)
    problems = Spec(name="x.md", text=text).problems()
    assert any(section.split(maxsplit=1)[0] in problem for problem in problems)


def test_sections_without_items_are_not_enough() -> None:
    text = WHOLE.replace("- fast", "It is fast.").replace("- [ ] one\n- [x] two", "- one")
    assert len(Spec(name="x.md", text=text).problems()) == 2


def finding(**fields: object) -> CriterionResult:
    values = {"criterion": "one", "passed": True, "evidence": "ran it", **fields}
    return CriterionResult.model_validate(values)


def test_what_a_report_may_not_leave_out() -> None:
    specs = (Spec(name="x.md", text=WHOLE),)
    assert report_problems([], specs) == ("x.md is not in the report",)
    half = SpecResult(spec="specs/x.md", criteria=(finding(evidence=" "),))
    problems = report_problems([half], specs)
    assert "no evidence for “one”" in problems[0]
    assert "no finding on “two”" in problems[1]
    whole = SpecResult(spec="x.md", criteria=(finding(), finding(criterion="`Two`.")))
    assert report_problems([whole], specs) == ()


def test_failures_become_tasks_after_everything_else() -> None:
    red = Receipt(command="uv run pytest", source="backpressure", status=ReceiptStatus.FAILED)
    report = ValidationReport(
        checks=(red,),
        specs=(SpecResult(spec="x.md", criteria=(finding(passed=False),), gaps=("no docs",)),),
    )
    assert not report.passed
    plan = ImplementationPlan(tasks=(Task(id="fix-r1-01", priority=7),))
    tasks = repair_tasks(report, plan)
    assert [t.id for t in tasks] == ["fix-r1-01x", "fix-r1-02", "fix-r1-03"]
    assert {t.priority for t in tasks} == {8}
    assert all(t.verification_criteria for t in tasks)


def test_a_rejection_is_a_task_also_when_an_earlier_round_had_one() -> None:
    done = Task(id="rejected-r1", status=TaskStatus.COMPLETE)
    task = rejection_task("It is not polite", 1, ImplementationPlan(tasks=(done,)))
    assert task.id == "rejected-r1x"
    assert "It is not polite" in task.description


@pytest.mark.parametrize("priority", [-3, 0, 1, 2, 7])
def test_a_rejection_comes_next_whatever_else_is_left(priority: int) -> None:
    done = Task(id="done", priority=-9, status=TaskStatus.COMPLETE)
    plan = ImplementationPlan(tasks=(done, Task(id="left", priority=priority)))
    task = rejection_task("It is not polite", 1, plan)
    assert plan.adding([task]).get_next_task() == task
    assert task.priority == min(1, priority - 1)


MAY = permission_question(Permission(tool="Bash", argument="npm publish", rule="ask-first"))


@pytest.mark.parametrize(
    ("typed", "labels", "other"),
    [
        ("1", ("Allow once",), ""),
        ("allow for this SESSION", ("Allow for this session",), ""),
        ("3", ("Deny",), ""),
        ("3 not on a Friday", ("Deny",), "not on a Friday"),
        ("Deny: use the registry of the team", ("Deny",), "use the registry of the team"),
        ("3, no", ("Deny",), "no"),
        ("1 but only today", (), "1 but only today"),
        ("yes", (), "yes"),
        ("33", (), "33"),
        ("", (), ""),
    ],
)
def test_only_plain_words_allow_and_a_denial_takes_a_reason(
    typed: str, labels: tuple[str, ...], other: str
) -> None:
    answer = parse_answer(MAY, typed, by="command")
    assert (answer.labels, answer.other) == (labels, other)
    assert parse_ruling(answer).allowed is (
        labels[:1] in (("Allow once",), ("Allow for this session",))
    )
    said = slip(MAY, typed)
    assert said == (
        "" if labels else "Valid answers: 1 allow once, 2 allow for this session, 3 deny (and why)."
    )


def test_a_declined_permission_is_a_denial() -> None:
    assert not parse_ruling(Answer(declined=True)).allowed
    assert not parse_ruling(Answer(labels=("Allow once", "Deny"))).allowed

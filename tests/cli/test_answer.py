"""Answers and decisions from another terminal, also while no loop runs."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain.documents.questions import AskedQuestion, Permission
from ralph_tui.domain.permissions import permission_question
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import Approval, ApprovalKind
from ralph_tui.store.project import Documents, Project
from tests.cli.asking import QUESTIONS
from tests.cli.processes import inside
from tests.cli.recorded import HOSTILE


def put(project: Project, *questions: AskedQuestion, approval: Approval | None = None) -> None:
    def change(docs: Documents) -> Documents:
        return docs.model_copy(
            update={
                "questions": docs.questions.asking(questions),
                "state": docs.state.model_copy(update={"approval": approval}),
            }
        )

    project.transact(change)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.create()
    put(project, *QUESTIONS, approval=Approval(kind=ApprovalKind.PLAN, summary="3 tasks"))
    return project


def answered(project: Project, question_id: str) -> tuple[tuple[str, ...], str, bool, str]:
    question = project.load().questions.find(question_id)
    assert question is not None
    assert question.answer is not None
    assert question.answered_at is not None
    given = question.answer
    return given.labels, given.other, given.declined, given.by


def test_open_questions_are_listed_with_numbered_options(project: Project) -> None:
    lines = inside("answer", cwd=project.root).stdout.splitlines()
    assert lines[0] == "q-1"
    assert lines[1].endswith("discovery asks: Which colour first?")
    assert [line.strip() for line in lines[2:4]] == ["1. Red", "2. Green"]
    assert lines[4] == "q-2"
    assert lines[-1].startswith("ralph answer q-1 1 ")
    listed = json.loads(inside("answer", "--json", cwd=project.root).stdout)
    assert [question["id"] for question in listed] == ["q-1", "q-2"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("2",), (("Green",), "", False, "command")),
        (("red",), (("Red",), "", False, "command")),
        (("none", "of", "them"), ((), "none of them", False, "command")),
        (("--decline",), ((), "", True, "command")),
        (("-",), ((), "from a pipe", False, "command")),
    ],
)
def test_an_answer_reaches_its_question_alone(
    project: Project, words: tuple[str, ...], wanted: tuple[tuple[str, ...], str, bool, str]
) -> None:
    done = inside("answer", "q-2", *words, cwd=project.root, stdin="from a pipe\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert answered(project, "q-2") == wanted
    assert [q.id for q in project.load().questions.open()] == ["q-1"]


def test_an_answer_is_not_changed_afterwards(project: Project) -> None:
    assert inside("answer", "q-1", "1", cwd=project.root).returncode == 0
    done = inside("answer", "q-1", "2", cwd=project.root)
    assert done.returncode == 3
    assert "(q-1) was already answered: Red. Nothing was changed." in " ".join(done.stderr.split())
    assert answered(project, "q-1")[0] == ("Red",)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("q-9", "1"), "There is no question 'q-9'."),
        (("q-1",), "The answer is empty."),
        (("q-1", " "), "The answer is empty."),
        (("q-1", "-"), "longer than 20,000 characters"),
        (("q-1", "1", "--decline"), "exclude each other"),
    ],
)
def test_an_answer_that_cannot_be_taken(project: Project, words: tuple[str, ...], why: str) -> None:
    done = inside("answer", *words, cwd=project.root, stdin="x" * 20_001)
    assert done.returncode == 3
    assert why in done.stderr
    assert len(project.load().questions.open()) == 2


LONG = "set -e\n" + "echo " + "x" * 900 + " | sh -s -- --really"


def test_a_permission_is_shown_whole_and_answered_in_plain_words(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.create()
    wanted = Permission(
        tool="Bash",
        argument=LONG,
        asked="echo x",
        rule="ask-first",
        reason="safety.ask_commands lists `sh`",
        patterns=("sh",),
    )
    asked = QUESTIONS[0].model_copy(
        update={"question": permission_question(wanted), "permission": wanted, "task_id": "a"}
    )
    put(project, asked)
    listed = inside("answer", cwd=tmp_path).stdout
    for text in (*LONG.splitlines(), "because safety.ask_commands lists `sh` (ask-first)"):
        assert text in listed
    assert "2. Allow for this session" in listed
    refused = inside("answer", "q-1", "yes", cwd=tmp_path)
    assert refused.returncode == 3
    assert "Valid answers: 1 allow once, 2 allow for this session" in refused.stderr
    done = inside("answer", "q-1", "deny:", "not", "now", cwd=tmp_path)
    assert done.stdout == "Permission: denied: not now\n"
    assert answered(project, "q-1") == (("Deny",), "not now", False, "command")


def test_nothing_open_is_said(tmp_path: Path) -> None:
    Project(tmp_path).create()
    assert inside("answer", cwd=tmp_path).stdout == "No question is open.\n"
    assert json.loads(inside("answer", "--json", cwd=tmp_path).stdout) == []


def test_hostile_questions_are_inert(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.create()
    asked = QUESTIONS[0]
    question = asked.question.model_copy(update={"question": HOSTILE, "header": HOSTILE})
    put(project, asked.model_copy(update={"question": question}))
    listed = inside("answer", cwd=tmp_path).stdout
    assert "\x1b" not in listed
    assert "[@click=app.quit]x[/]list[int]" in listed


def test_status_says_what_waits(project: Project) -> None:
    facts = inside("status", cwd=project.root).stdout
    assert "2 open; `ralph answer` lists them" in facts
    assert "needed, of the plan (3 tasks); `ralph approve`" in facts
    assert len(json.loads(inside("status", "--json", cwd=project.root).stdout)["questions"]) == 2


def test_status_names_the_blocked_task_why_and_what_to_do(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.create()
    done = Task(id="a", status=TaskStatus.COMPLETE)
    blocked = Task(id="b", status=TaskStatus.BLOCKED, blockers=("3 attempts failed: no disk.",))
    project.transact(lambda docs: docs.replacing(plan=ImplementationPlan(tasks=(done, blocked))))
    facts = inside("status", cwd=tmp_path).stdout
    assert "b: 3 attempts failed: no disk. Change it with `ralph edit b`, then" in facts
    project.transact(lambda docs: docs.replacing(plan=ImplementationPlan(tasks=(done,))))
    facts = inside("status", cwd=tmp_path).stdout
    assert "finished: every task is complete" in facts
    assert "\nblocked" not in facts


def test_an_approval_waits_for_the_next_run(project: Project) -> None:
    done = inside("approve", cwd=project.root)
    assert done.stdout.splitlines() == [
        "Approved: the plan (3 tasks).",
        "No loop is running; `ralph run` continues from here.",
    ]
    approval = project.load().state.approval
    assert approval is not None
    assert (approval.approved, approval.decided_by) == (True, "command")
    assert "of the plan: approved" in inside("status", cwd=project.root).stdout
    assert inside("approve", cwd=project.root).returncode == 3


def test_a_rejection_needs_a_reason(project: Project) -> None:
    refused = inside("reject", cwd=project.root)
    assert refused.returncode == 3
    assert "needs a reason" in refused.stderr
    done = inside("reject", "--reason", "too big", cwd=project.root)
    assert "Rejected: the plan: too big" in done.stdout
    approval = project.load().state.approval
    assert approval is not None
    assert (approval.approved, approval.reason) == (False, "too big")


def test_nothing_to_decide_is_said(tmp_path: Path) -> None:
    Project(tmp_path).create()
    done = inside("approve", cwd=tmp_path)
    assert done.returncode == 3
    assert "There is nothing to approve" in done.stderr


def test_a_choice_that_is_not_there_answers_nothing(project: Project) -> None:
    done = inside("answer", "q-2", "1,9", cwd=project.root)
    assert done.returncode == 3
    assert done.stderr.startswith("ralph: There is no option 9")
    question = project.load().questions.find("q-2")
    assert question is not None
    assert question.is_open

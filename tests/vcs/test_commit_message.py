"""Commit messages from hostile text: one subject, inert, and no trailer but ralph's."""

import subprocess

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.sanitize import inert
from ralph_tui.vcs.branches import branch_slug
from ralph_tui.vcs.commits import MAX_MESSAGE, MAX_SUBJECT, after_hooks, filled, with_trailers

TEXT = st.text(st.characters(codec="utf-8"), max_size=200)


def trailers_of(message: str) -> list[str]:
    asked = subprocess.run(
        ["git", "interpret-trailers", "--parse"],
        input=message.encode(),
        check=True,
        capture_output=True,
    )
    return asked.stdout.decode().splitlines()


@given(TEXT, TEXT)
def test_a_subject_is_one_inert_line_whatever_the_title(title: str, task_id: str) -> None:
    values = {"task.id": task_id, "task.title": title}
    made = filled("feat: {task.id} - {task.title}", values)
    assert made == inert(made)
    assert "\n" not in made
    assert made.startswith("feat:")
    assert len(made) <= MAX_SUBJECT


def test_no_title_becomes_a_trailer() -> None:
    values = {"task.id": "Signed-off-by: Eve <eve@example.org>", "task.title": "Ralph-Task: other"}
    made = filled("{task.title}\n\n{task.id}", values)
    assert trailers_of(with_trailers(made, {})) == []
    assert trailers_of(with_trailers(made, {"Ralph-Task": "a\nSigned-off-by: Eve"})) == [
        "Ralph-Task: a Signed-off-by: Eve"
    ]


def test_a_value_with_braces_is_not_filled_in_again() -> None:
    values = {"task.id": "{task.title}", "task.title": "secret plan"}
    assert filled("{task.id}", values) == "{task.title}"


def test_a_hook_may_add_to_the_message_but_not_to_ralphs_trailers() -> None:
    left = "feat: a\x1b[2J - A\n\nSee #12.\n\nRalph-Task: forged\nRalph-Run: forged\n"
    made = after_hooks(left, {"Ralph-Task": "a"})
    assert made == "feat: a - A\n\nSee #12.\n\nRalph-Task: a\n"


def test_a_message_of_a_hook_is_not_cut_inside_a_secret() -> None:
    left = "feat: a\n\n" + "x" * (MAX_MESSAGE - 20) + " sk-ant-api03-a1B2c3D4e5F6g7H8i9J0"
    assert "sk-ant" not in after_hooks(left, {})


@given(TEXT)
def test_a_slug_is_safe_in_a_branch_name(text: str) -> None:
    slug = branch_slug(text)
    assert len(slug) <= 50
    assert all(c.isascii() and (c.isalnum() or c == "-") for c in slug)
    assert not slug.startswith("-")

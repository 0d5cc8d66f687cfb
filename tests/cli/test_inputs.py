"""Requests and answers as a person hands them over."""

import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ralph_tui.cli.app import is_request
from ralph_tui.cli.run.inputs import MAX_CHARACTERS, read_answers, read_guidance, read_request
from ralph_tui.domain.documents.questions import GivenAnswers, Option, Question
from ralph_tui.domain.errors import RalphError


def test_a_request_is_words_standard_input_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("A tracker\nwith streaks\n"))
    path = tmp_path / "my request.md"
    path.write_text("\ufeffA tracker\n", encoding="utf-8")
    assert read_request(None) == read_request([]) == ""
    assert read_request(["A habit", "tracker "]) == "A habit tracker"
    assert read_request(["-"]) == "A tracker\nwith streaks"
    assert read_request([f"@{path}"]) == "A tracker"


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "is empty"), (b"\xff\xfe", "not UTF-8"), (b"x" * (MAX_CHARACTERS + 1), "longer than")],
)
def test_a_request_that_says_nothing_useful(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "request"
    path.write_bytes(content)
    with pytest.raises(RalphError, match=why):
        read_request([f"@{path}"])


@pytest.mark.parametrize(
    "text", ["Which storage?: SQLite\nTags: [a, b]\nSure: yes\nVersion: 3.10", ""]
)
def test_answers_stay_the_text_they_are(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(text, encoding="utf-8")
    wanted = {"Which storage?": "SQLite", "Tags": "a, b", "Sure": "yes", "Version": "3.10"}
    assert read_answers(path).answers == (wanted if text else {})


def test_answers_as_json_reach_their_question(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text('{"Storage": "2"}', encoding="utf-8")
    options = (Option(label="A file"), Option(label="SQLite"))
    question = Question(question="Which storage?", header="Storage", options=options)
    answer = read_answers(path).to(question)
    assert answer is not None
    assert (answer.labels, answer.by) == (("SQLite",), "file")
    assert read_answers(None) == GivenAnswers()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- one\n- two\n", "must hold a mapping"),
        ("Storage: {a: b}\n", "the answer to 'Storage' must be a text"),
        ("a: b: c\n", "neither YAML nor JSON"),
        ("x: [" * 3000, "neither YAML nor JSON"),
    ],
)
def test_a_file_of_answers_that_is_none(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RalphError, match=why):
        read_answers(path)


@pytest.mark.parametrize("word", ["Build a tracker", "@request.md", "-", "A\ttracker"])
def test_a_phrase_is_a_request(word: str) -> None:
    assert is_request(word)


@pytest.mark.parametrize("word", ["status", "statsu", "Build", "--help", "-C", "--json x", "", "@"])
def test_a_word_is_a_command_or_a_slip(word: str) -> None:
    assert not is_request(word)


@pytest.mark.parametrize("read", [read_request, read_guidance])
def test_standard_input_that_is_no_text_is_said(
    read: Callable[[Sequence[str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"na\xffve"), encoding="utf-8"))
    with pytest.raises(RalphError, match=r"on standard input is not UTF-8, as the byte 0xff shows"):
        read(["-"])

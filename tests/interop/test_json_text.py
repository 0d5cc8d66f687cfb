"""JSON is read strictly, with the place of every value; one value is replaced and no other byte changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.interop import json_text
from ralph_tui.interop.formats import InteropError, Source, edited
from ralph_tui.interop.json_text import JsonList, JsonObject, JsonText
from tests.harness.effort import effort
from tests.interop.samples import json_texts, values


def read(text: str) -> JsonText:
    return JsonText(Source("plan.json", text))


@given(values().flatmap(json_texts))
def test_every_value_is_that_of_the_standard_library_and_knows_its_place(text: str) -> None:
    document = read(text)
    assert document.values == [json.loads(text, parse_float=str)]
    pending: list[Any] = list(document.values)
    for value in pending:
        if isinstance(value, JsonObject | JsonList):
            places = value.places.values() if isinstance(value, JsonObject) else value.places
            inner = list(value.values() if isinstance(value, JsonObject) else value)
            for item, (start, end) in zip(inner, places, strict=True):
                assert json.loads(text[start:end]) == item
            pending += inner


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_no_text_ends_in_anything_but_a_value_or_a_sentence(text: str) -> None:
    try:
        found = read(text).values
    except InteropError:
        return
    assert len(found) > 1 or found == [json.loads(text, parse_float=str)]


def test_lines_are_values_of_their_own() -> None:
    document = read('{"a": 1}\r\n\r\n  [2]\n3')
    assert document.values == [{"a": 1}, [2], 3]
    assert document.root.line == 1
    assert read('{"a": {"b": 1}\n, "c": 2}').values == [{"a": {"b": 1}, "c": 2}]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"id": 1}', '{"id": 1, "flag": true}'),
        ('{\n  "id": 1\n}', '{\n  "id": 1,\n  "flag": true\n}'),
        ("{}", '{"flag": true}'),
        ('{"flag": null, "x": 1}', '{"flag": true, "x": 1}'),
    ],
)
def test_a_member_is_set_or_added_like_its_neighbors(before: str, after: str) -> None:
    document = read(before)
    assert edited(document.source.text, [document.root.with_value("flag", True)]) == after
    assert json.loads(after)["flag"] is True


def test_getters_tell_kinds_apart() -> None:
    root = read(
        '{"n": 1.10, "t": ["a", 2], "o": "one", "f": 1, "l": [1], "nil": null, "m": {}}'
    ).root
    assert (root.text("n"), root.text("nil"), root.text("nil", "o")) == ("1.10", "", "one")
    assert (root.texts("t"), root.texts("o")) == ({"a": 1, "2": 1}, {"one": 1})
    for wrong, sentence in (
        (lambda: root.flag("f"), "'f' is a number, not true or false"),
        (lambda: root.objects("f"), "'f' is a number, not a list"),
        (lambda: root.objects("l"), "an entry of 'l' is a number, not an object"),
        (lambda: root.text("l"), "'l' is a list, not text"),
        (lambda: root.text("m"), "'m' is an object, not text"),
    ):
        with pytest.raises(InteropError, match=sentence):
            wrong()


def test_a_large_file_is_read_in_time_and_one_of_very_many_values_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stories = [{"id": f"US-{n}", "title": "x" * 200, "passes": False} for n in range(5_000)]
    text = json.dumps({"userStories": stories}, indent=2)
    assert effort(lambda: read(text)) < 30
    monkeypatch.setattr(json_text, "MAX_VALUES", 100)
    with pytest.raises(InteropError, match="more than 100 values"):
        read(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the file ends early"),
        ("\ufeff{}", "not valid JSON"),
        ('{"a": ' + "9" * 5_000 + "}", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_no_json_is_one_sentence_however_large(text: str, what: str) -> None:
    with pytest.raises(InteropError, match=what) as told:
        read(text)
    assert told.value.line == 1
    assert told.value.hint

"""JSON is read strictly, with the place of every value; one value is replaced and no other byte changes."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.interop import json_reader
from ralph_tui.interop.formats import SNIFFED, InteropError, Source
from ralph_tui.interop.json_document import JsonDocument, outline
from ralph_tui.interop.json_reader import MAX_DEPTH, Node
from tests.interop.samples import json_texts, values


def read(text: str, *, lines: bool = False) -> JsonDocument:
    return JsonDocument(Source("plan.json", text), lines=lines)


@given(values().flatmap(lambda value: st.tuples(st.just(value), json_texts(value))))
def test_it_reads_what_the_standard_library_reads(case: tuple[object, str]) -> None:
    value, text = case
    assert read(text).root.plain == value == json.loads(text)


@given(values().flatmap(json_texts))
def test_every_value_knows_its_place(text: str) -> None:
    document = read(text)
    pending = [document.root]
    while pending:
        node = pending.pop()
        assert json.loads(text[node.start : node.end]) == node.plain
        assert document.line(node) == text.count("\n", 0, node.start) + 1
        pending += [*(node.members or {}).values(), *(node.items or ())]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{"a": 1,\n "b": [1,', 2, "the file ends early, because a list that begins at line 2"),
        ('{"a": 1,\n "b": ', 2, "the file ends early, because an object that begins at line 1"),
        ('{"a": "cut', 1, "the file ends in the middle of a string"),
        ('{\n"a": 1,\n"b": 2,\n"a": 3}', 4, "the key 'a' occurs twice, first in line 2"),
        ('{"a": {"b": 1, "b": 1}}', 1, "the key 'b' occurs twice"),
        ('{"a":\n NaN}', 2, "NaN is not a JSON value"),
        ('{"a": -Infinity}', 1, "-Infinity is not a JSON value"),
        ('{"a": 1e999}', 1, "1e999 is not a finite number"),
        ('{"a": ' + "9" * 5_000 + "}", 1, "a number of 5,000 digits"),
        ('{"a": 1\n "b": 2}', 2, "a comma or } is missing"),
        ('{"a": 1,\n}', 1, "an extra comma before }"),
        ("[1, 2,]", 1, "an extra comma before ]"),
        ("[1 2]", 1, "a comma or ] is missing"),
        ("{'a': 1}", 1, "a key in double quotes is expected"),
        ('{"a" 1}', 1, "a colon is missing after a key"),
        ('{"a": yes}', 1, "'yes}' is not a JSON value"),
        ("[01]", 1, "a comma or ] is missing"),
        ('{"a": "x\ny"}', 1, "a line end or a control character inside a string"),
        ('{"a": "\\x"}', 1, "invalid \\escape"),
        ("{}\n{}", 2, "more text after the end of the JSON value"),
        ("{}\n\0", 2, "a NUL byte in the text"),
        ("", 1, "a JSON value is missing"),
        ("\ufeff{}", 1, "is not a JSON value"),
        ('{\n<<<<<<< mine\n"a": 1\n', 2, "a merge conflict"),
        ("{]", 1, "a key in double quotes is expected"),
        ("]", 1, "']' is not a JSON value"),
    ],
)
def test_what_is_no_json_is_one_sentence_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(InteropError) as told:
        read(text)
    assert what in told.value.what
    assert told.value.line == line
    assert told.value.hint
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("opener", ["[", '{"a":', '[{"a":'])
def test_hostile_nesting_costs_no_stack(opener: str) -> None:
    deep = opener * (100_000 // len(opener))
    with pytest.raises(InteropError, match=f"nested more than {MAX_DEPTH} levels deep"):
        read(deep)
    assert outline(deep[:SNIFFED]) is not None
    allowed = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert read(allowed).root.items is not None


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_no_text_ends_in_anything_but_a_value_or_a_sentence(text: str) -> None:
    try:
        plain = read(text).root.plain
    except InteropError:
        outline(text)
    else:
        assert plain == json.loads(text)


def test_lines_are_values_of_their_own() -> None:
    document = read('{"a": 1}\r\n\r\n  [2]\n3', lines=True)
    assert [root.plain for root in document.roots] == [{"a": 1}, [2], 3]
    assert [document.line(root) for root in document.roots] == [1, 3, 4]
    for text, line in (('{"a": 1}\n{"a":\n1}', 2), ("1\n2 3", 2), ('1\n"x', 2)):
        with pytest.raises(InteropError) as told:
            read(text, lines=True)
        assert told.value.line == line


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1}', '{"a":1,"flag":true}'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2, "flag": true}'),
        ('{\r\n\t"a" : 1\r\n}\r\n', '{\r\n\t"a" : 1,\r\n\t"flag": true\r\n}\r\n'),
        ('{"a: ": {"b": ":"} }', '{"a: ": {"b": ":"}, "flag": true }'),
        ("{ }", '{"flag": true }'),
        ('{"flag": false}', '{"flag": true}'),
        ('{"flag": null}', '{"flag": true}'),
    ],
)
def test_a_member_is_set_or_added_like_its_neighbors(before: str, after: str) -> None:
    document = read(before)
    assert document.with_edits([document.edit(document.root, "flag", True)]) == after
    assert json.loads(after)["flag"] is True


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ('{"k": []}', "'k' is a list, not text"),
        ('{"k": true}', "'k' is true or false, not text"),
        ('{"k": {}}', "'k' is an object, not text"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(value: str, told: str) -> None:
    document = read(value)
    with pytest.raises(InteropError, match=told):
        document.text(document.root, "k")


def test_getters_tell_kinds_apart() -> None:
    document = read('{"n": 1.10, "t": ["a", 2], "o": "one", "f": 1, "l": [1], "nil": null}')
    root = document.root
    assert document.text(root, "n") == "1.10"
    assert document.texts(root, "t") == {"a": 1, "2": 1}
    assert document.texts(root, "o") == {"one": 1}
    assert document.text(root, "nil") == ""
    for wrong, sentence in (
        (lambda: document.flag(root, "f"), "'f' is a number, not true or false"),
        (lambda: document.listed(root, "f"), "'f' is a number, not a list"),
        (lambda: document.objects(root, "l"), "an entry of 'l' is a number, not an object"),
    ):
        with pytest.raises(InteropError, match=sentence):
            wrong()


def test_an_outline_is_made_of_a_text_that_was_cut() -> None:
    text = '{"a": [{"b": "x: {", "c": {"d": 1}}], "e\\"": 1, "cut": "abc {'
    assert outline(text) == {"a", "a[].b", "a[].c", "a[].c.d", 'e\\"', "cut"}
    assert outline("# Title\n{") == frozenset()


def test_a_large_file_is_read_in_time() -> None:
    stories = [{"id": f"US-{n}", "title": "x" * 200, "passes": False} for n in range(5_000)]
    text = json.dumps({"userStories": stories}, indent=2)
    began = time.process_time()
    read(text)
    assert time.process_time() - began < 3  # a tenth of that on a quiet machine


def test_a_file_of_very_many_values_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_reader, "MAX_VALUES", 100)
    assert read("[" + ",".join(["1"] * 99) + "]").root.items is not None
    with pytest.raises(InteropError, match="more than 100 values"):
        read("[" + ",".join(["1"] * 100) + "]")


@pytest.mark.parametrize("end", range(4))
def test_an_outline_of_a_hostile_text_takes_no_time(end: int) -> None:
    began = time.process_time()
    assert outline('{"a": "' + '\\"' * 30_000 + "\\" * end) == {"a"}
    assert time.process_time() - began < 2


def test_null_is_absent() -> None:
    assert Node(0, 4).is_null
    assert read('{"a": null}').root.get("a") is None

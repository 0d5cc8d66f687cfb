"""The same failure has the same fingerprint whatever its numbers and paths; another failure has another one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.run.breaker import fingerprint, reasons, steady, steady_name
from ralph_tui.domain.sanitize import one_line

NUMBERS = st.integers(min_value=0, max_value=10**9)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
PATHS = st.lists(NAMES, min_size=1, max_size=5).map(lambda parts: f"/{'/'.join(parts)}/calc.py")
HEX = st.from_regex(r"0x[0-9a-f]{6,16}", fullmatch=True)
TEMP = st.from_regex(r"tmp[a-z0-9_]{8}", fullmatch=True)
DURATIONS = st.floats(min_value=0, max_value=9_999, allow_nan=False).map(lambda s: f"{s:.2f}s")
TIMES = st.datetimes().map(lambda t: t.isoformat(" ", "seconds") if t.year > 999 else "23:59:59")

FAILURE = """\
{path}:{line}: in test_total
>       assert total(cart) == {want}
E       AssertionError: assert {got} == {want}
E        +  where {got} = <Cart at {address}>.total()
E       OSError: /tmp/{temp}/lock at {when}
==== 1 failed, {passed} passed in {took} ====
"""


@given(st.data())
def test_numbers_paths_and_times_make_no_other_failure(data: st.DataObject) -> None:
    def drawn() -> str:
        return FAILURE.format(
            path=data.draw(PATHS), line=data.draw(NUMBERS), want=data.draw(NUMBERS),
            got=data.draw(NUMBERS), address=data.draw(HEX), temp=data.draw(TEMP),
            when=data.draw(TIMES), passed=data.draw(NUMBERS), took=data.draw(DURATIONS),
        )  # fmt: skip

    one, other = drawn(), drawn()
    assert reasons(one) == reasons(other)
    assert fingerprint(one) == fingerprint(other)


@given(NUMBERS, NUMBERS)
def test_the_number_in_the_name_of_a_test_counts(one: int, other: int) -> None:
    names = [f"tests/test_cart.py::test_total_{number}" for number in (one, other)]
    assert (steady_name(names[0]) == steady_name(names[1])) == (one == other)
    kept = [fingerprint(f"test_total_{number} failed") for number in (one, other)]
    assert (kept[0] == kept[1]) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("E   KeyError: 'price'", "E   KeyError: 'amount'"),
        ("E   ModuleNotFoundError: No module named 'cart'", "E   ImportError: cannot import 'cart'"),
        ("error: unused variable: x", "error: unused variable: y"),
        ("build finished", "build broke"),
        ("", "anything"),
    ],
)  # fmt: skip
def test_another_failure_is_another_one(one: str, other: str) -> None:
    assert reasons(one) != reasons(other)
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize(
    ("varying", "steadied"),
    [
        ("src/cart.py:12:4: error: bad", "<path>: error: bad"),
        (r"C:\work\cart.py(3,4): error TS2304", "<path>: error TS2304"),
        ("cart.go:7:2: undefined: total", "<path>: undefined: total"),
        ("took 1.23 s, 12ms and 45 %", "took <n>, <n> and <n>"),
        ("2026-11-23T09:00:01.5Z done", "<time> done"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id <id>"),
        ("at commit 9236dfe1 of deadbeef", "at commit <id> of deadbeef"),
        ("request req_011CTabcDEF99 failed", "request <id> failed"),
        ("test_2 and utf8 stay", "test_2 and utf8 stay"),
        ("\x1b[31mFAILED\x1b[0m\n  twice", "FAILED twice"),
    ],
)
def test_what_varies_gives_way_to_a_word(varying: str, steadied: str) -> None:
    assert steady(varying) == steadied


@given(st.text())
def test_any_text_has_a_fingerprint_on_one_short_line(text: str) -> None:
    assert fingerprint(text) == fingerprint(text)
    assert len(fingerprint(text)) < 120
    assert one_line(fingerprint(text)) == fingerprint(text)


def test_an_output_without_a_reason_is_known_by_its_end() -> None:
    assert reasons("step 1\nstep 2\n\nnothing to do in 3s\n") == (
        "nothing to do in <n>",
        "step <n>",
    )
    assert reasons("\n \n") == ()
    assert fingerprint("") == ""

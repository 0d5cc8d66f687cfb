"""A secret that is streamed in pieces is never shown, in whatever pieces it comes."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.agent.translate import MAX_HELD_BACK, StreamRedaction
from ralph_tui.domain.redaction import REDACTED
from ralph_tui.domain.sanitize import inert

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwx"
TEXTS = {
    f"The key is {KEY}, keep it.": "ant-api03",
    "Authorization: Bearer abcdefgh12345678 was sent": "abcdefgh",
    "authorization: Basic dXNlcjpwYXNzd29yZA== was sent": "dXNlcjpw",
    "x-api-key: 0123456789abcdef\nnext": "01234567",
    "postgres://me:pa55word@db/x is the address": "pa55word",
    "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE owIB AAKC\n-----END RSA PRIVATE KEY-----\nb": "owIB",
    "token ghp_abcdefghijklmnopqrstuvwxyz0123 it was": "ghp_",
}


def streamed(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    holding = StreamRedaction()
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    return [*(holding.add(None, piece) for piece in pieces), holding.rest(None)]


@given(text=st.sampled_from(sorted(TEXTS)), cuts=st.lists(st.integers(0, 200), max_size=30))
def test_no_piece_of_a_secret_is_shown(text: str, cuts: list[int]) -> None:
    shown = "".join(streamed(text, cuts))
    assert TEXTS[text] not in shown
    assert REDACTED in shown
    assert shown == inert(text)


@given(text=st.text("ab \n:-", max_size=60), cuts=st.lists(st.integers(0, 60), max_size=10))
def test_other_text_arrives_whole(text: str, cuts: list[int]) -> None:
    assert "".join(streamed(text, cuts)) == inert(text)


def test_words_are_shown_as_soon_as_they_are_whole() -> None:
    holding = StreamRedaction()
    assert holding.add(None, "Hello wor") == "Hello "
    assert holding.add("sub", "other") == ""
    assert holding.add(None, "ld and") == "world "
    assert (holding.rest(None), holding.rest("sub"), holding.rest("sub")) == ("and", "other", "")


def test_an_endless_word_does_not_wait_for_ever() -> None:
    holding = StreamRedaction()
    assert holding.add(None, "x" * (MAX_HELD_BACK + 1)) == "x" * (MAX_HELD_BACK + 1)

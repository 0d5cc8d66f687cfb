"""The promise counts as the whole last line of a message, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.run.promise import words_before_promise

PROMISE = "<promise>COMPLETE</promise>"

COUNTS = {
    PROMISE: "",
    f"\n  {PROMISE}  \n\n": "",
    f"The parser is written.\n\n{PROMISE}": "The parser is written.",
    f"```\ncode\n```\n{PROMISE}\n": "```\ncode\n```",
    f"~~~~py\n```\n~~~\n~~~~\n{PROMISE}": "~~~~py\n```\n~~~\n~~~~",
    f"I said {PROMISE} too early.\n{PROMISE}": f"I said {PROMISE} too early.",
}

MEANS_NOTHING = (
    "",
    "COMPLETE",
    f"All done. {PROMISE}",
    f"{PROMISE} I am done.",
    f"{PROMISE}\nThat was it.",
    f"{PROMISE}.",
    f"I cannot say {PROMISE} yet",
    f"> {PROMISE}",
    f"`{PROMISE}`",
    f'"{PROMISE}"',
    f"**{PROMISE}**",
    f"- {PROMISE}",
    f"    {PROMISE}",
    f"\t{PROMISE}",
    f"```\n{PROMISE}",
    f"```\n{PROMISE}\n```",
    f"~~~text\n```\n{PROMISE}",
    f"````\n```\n{PROMISE}",
    f"- ```\n  {PROMISE}",
    f"> ```\n{PROMISE}",
    "<promise>DONE</promise>",
    "<promise>complete</promise>",
    "<promise> COMPLETE </promise>",
    "<promise>COMP\u200bLETE</promise>",
)


@pytest.mark.parametrize(("message", "before"), COUNTS.items())
def test_the_last_line_claims_and_the_words_before_it_are_kept(message: str, before: str) -> None:
    assert words_before_promise(message, PROMISE) == before


@pytest.mark.parametrize("message", MEANS_NOTHING)
def test_anywhere_else_it_means_nothing(message: str) -> None:
    assert words_before_promise(message, PROMISE) is None


@given(st.text(), st.text())
def test_only_a_message_that_ends_with_it_can_claim(message: str, promise: str) -> None:
    found = words_before_promise(message, promise)
    if found is not None:
        assert promise
        assert message.rstrip().endswith(promise)
        assert message.lstrip().startswith(found)


@given(st.text(alphabet=st.characters(exclude_characters="`~")))
def test_any_plain_words_may_stand_before_it(words: str) -> None:
    assert words_before_promise(f"{words}\n{PROMISE}", PROMISE) is not None
    assert words_before_promise(f"{words}\n{PROMISE}", "") is None
    assert words_before_promise(f"```\n{words}\n{PROMISE}", PROMISE) is None

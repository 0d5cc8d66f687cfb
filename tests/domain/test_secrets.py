"""Keys and passwords are recognised by form and by value, and ordinary text is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain import redaction
from ralph_tui.domain.redaction import hide, is_secret_name, redact, secret_values
from ralph_tui.domain.sanitize import head, inert, one_line, tail

A20 = "a1B2c3D4e5F6g7H8i9J0"

SECRETS = [
    f"sk-ant-api03-{A20}",
    f"sk-proj-{A20}",
    f"ghp_{A20}xyz",
    f"gho_{A20}xyz",
    f"github_pat_{A20}_x",
    f"glpat-{A20}",
    "xoxb-12345678901-abcdef",
    "xoxb-1234567890",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27uhbUJU1p1r",
]
HIDDEN_PARTS = {
    f"Authorization: Bearer {A20}==": A20,
    f"authorization: bearer {A20}": A20,
    "Bearer 12345678": "12345678",
    "x://a:b@c": "a:b",
    f"Authorization: Basic {A20}": A20,
    f"X-Api-Key: {A20}": A20,
    "postgres://me:s3cret@db.example.org/x": "s3cret",
    "https://:t0ken@example.org": "t0ken",
    f"-----BEGIN RSA PRIVATE KEY-----\n{A20}\n-----END RSA PRIVATE KEY-----": A20,
    f"-----BEGIN PRIVATE KEY-----\n{A20} cut": A20,
}


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_hidden", [])


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "key={}\n", '"{}"', "see ({}), please", "a\n{}\nb"])
def test_a_secret_is_taken_out_wherever_it_stands(secret: str, around: str) -> None:
    text = redact(around.format(secret))
    assert text == around.format("[redacted]")


@pytest.mark.parametrize(("text", "part"), HIDDEN_PARTS.items())
def test_the_secret_part_goes_and_the_rest_stays(text: str, part: str) -> None:
    clean = redact(text)
    assert part not in clean
    assert "[redacted]" in clean
    assert clean.split("[redacted]")[0] == text[: len(clean.split("[redacted]")[0])]


@pytest.mark.parametrize(
    "text",
    [
        "task-1: risk-based ask-me-anything", "the bearer of bad news", "http://host:8080/a@b",
        "git@github.com:me/x.git", "https://example.org/a:b@c", "AKIA", "gh pr list", "eyJ",
        "Authorization is needed", "a skein of sk-8", "ssh://git@host/x", "[redacted]",
    ],
)  # fmt: skip
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_a_control_character_inside_does_not_hide_a_secret() -> None:
    for cut in (inert, head, tail, one_line):
        assert A20[-8:] not in cut(f"sk-ant\x1b[1m-api03-{A20}")


FILLING = ["\x1b[0m", "\x1b]0;title\x07", "\u200b", " ", "\n", "\t", " word ", "\r\n"]
VALUE = "correct horse 42 battery"
TEXTS = st.lists(
    st.tuples(st.sampled_from(FILLING), st.integers(0, 80)).map(lambda part: part[0] * part[1])
    | st.sampled_from([f" {SECRETS[0]} ", f" {VALUE} ", f" {SECRETS[-1]} "]),
    max_size=8,
).map("".join)


def has_part_of_a_secret(text: str) -> bool:
    known = (SECRETS[0], SECRETS[-1], VALUE)
    return any(one[at : at + 5] in text for one in known for at in range(len(one) - 4))


@given(TEXTS, st.integers(10, 100), st.integers(0, 400))
def test_no_part_of_a_secret_is_left_where_a_text_is_cut(text: str, limit: int, at: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "_hidden", [VALUE])
        whole = inert(text)
        cuts = (one_line(text, limit), head(text, limit), tail(text, limit))
        of_an_end = tail(text[at:], limit, is_cut=True)
    for cut in (*cuts, of_an_end):
        assert len(cut) <= limit
        assert not has_part_of_a_secret(cut)
    assert " ".join(whole.split()).startswith(cuts[0].removesuffix("…"))
    assert whole.startswith(cuts[1].removesuffix("…"))
    assert whole.endswith(cuts[2].removeprefix("…"))


def test_values_of_secret_variables_are_taken_out_everywhere() -> None:
    environment = {
        "MY_TOKEN": "correct-horse",
        "DB_PASSWORD": "postgres",
        "PIN_KEY": "1234",
        "HOME": "/home/somebody",
        "LONGER_SECRET": "correct-horse-battery",
    }
    values = secret_values(environment)
    assert sorted(values) == ["correct-horse", "correct-horse-battery"]
    hide(values)
    text = "correct-horse-battery correct-horse postgres 1234 /home/somebody"
    assert redact(text) == "[redacted] [redacted] postgres 1234 /home/somebody"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("AWS_SECRET_ACCESS_KEY", True), ("PGPASSWORD", True), ("MYSQL_PWD", True), ("TOKEN", True),
        ("SECRET_KEY_BASE", True), ("npm_config__auth", True), ("OPENAI_APIKEY", True),
        ("PWD", False), ("OLDPWD", False), ("KEYBOARD", False), ("MONKEY", False),
        ("SSH_AUTH_SOCK", False), ("MAX_THINKING_TOKENS", False), ("GIT_ASKPASS", False),
        ("TOKENIZERS_PARALLELISM", False), ("COMPASS", False),
    ],
)  # fmt: skip
def test_names_say_what_is_secret(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    assert redact(redact(text)) == redact(text)

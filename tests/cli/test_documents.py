"""What README and CONTRIBUTING show is true."""

import re
import shlex

import pytest
import typer
from typer.core import TyperGroup

from ralph_tui.cli.app import command_tree
from ralph_tui.config.setting_names import description
from ralph_tui.demo.scenario import parse_scenario
from ralph_tui.domain.errors import ExitCode
from ralph_tui.tui.commands.custom_keys import NAMES
from tests.cli.processes import REPOSITORY
from tests.tools.reference import key_table

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
KEYS = (REPOSITORY / "docs/keys.md").read_text(encoding="utf-8")
STATUSES = (REPOSITORY / "docs/exit-statuses.md").read_text(encoding="utf-8")
DOCS = [
    path
    for path in sorted(REPOSITORY.glob("docs/*.md"))
    if path.stem != "differences"  # names the commands of other loops
]
PAGES = (README, *(path.read_text(encoding="utf-8") for path in DOCS))
MOST_WORDS = 1200
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(text: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


def test_the_scenarios_in_contributing_load() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", CONTRIBUTING, re.DOTALL)
    assert len(blocks) == 2
    assert all(parse_scenario(text).scripts for text in blocks)


def test_the_table_of_keys_is_fresh() -> None:
    assert f"<!-- keys -->\n{key_table()}\n<!-- /keys -->" in KEYS


def test_the_names_that_the_settings_know_stand_beside_the_keys() -> None:
    assert "docs/keys.md" in description("screen.keys")
    assert [name for name in NAMES if f"| `{name}` |" not in KEYS] == []


def test_every_picture_is_there() -> None:
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README + CONTRIBUTING)
    assert pictures
    assert [path for path in pictures if not (REPOSITORY / path).is_file()] == []


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= MOST_WORDS


def test_the_readme_keeps_the_two_commands_of_a_fresh_clone() -> None:
    shown = block(README.split("without an API key", 1)[1], "bash")
    assert "pip install uv && uv run ralph demo" in shown
    assert "pip install uv && uv run pytest" in shown


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in DOCS)])
def test_every_link_to_a_file_leads_somewhere(page: str) -> None:
    path = REPOSITORY / page
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def shown_commands() -> list[str]:
    """List each `ralph …` in a code span, and each that begins a line of a shell block."""
    text = "\n".join(PAGES)
    spans = re.findall(r"`(ralph [^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", text, re.DOTALL)
    lines = [
        line.strip()
        for block in (*blocks, *re.findall(r"^ {4}ralph .+$", text, re.MULTILINE))
        for line in block.splitlines()
    ]
    return sorted({*spans, *(line for line in lines if line.startswith("ralph "))})


@pytest.mark.parametrize("line", shown_commands())
def test_every_command_on_the_pages_parses(line: str) -> None:
    parse(line)


def parse(line: str) -> None:
    """Fail unless ralph takes this line."""
    words = shlex.split(line.replace("…", "x"), comments=True)[1:]
    # With its settings, because a command keeps the help option of its first context.
    tree = command_tree()
    context = typer.Context(tree, info_name="ralph", **tree.context_settings)
    command = context.command
    while isinstance(command, TyperGroup) and words:
        inner = command.commands.get(words[0])
        if inner is None:
            # A request in quotes or a file is no command; a bare word is a misspelled one.
            assert words[0].startswith(("-", "@")) or " " in words[0], words
            break
        command, words = inner, words[1:]
        context = typer.Context(command, parent=context)
    command.make_parser(context).parse_args(list(words))


def test_every_exit_status_is_documented() -> None:
    rows = {int(status) for status in re.findall(r"^\| (\d+) \|", STATUSES, re.MULTILINE)}
    assert rows == set(ExitCode)

# `just` lists the commands. CONTRIBUTING.md explains them.

_list:
    @just --list --unsorted

# Install the locked dependencies.
setup:
    uv sync --locked

# Run what must pass before a change is merged.
ci:
    .ci/run

# Run the quick checks: lint, format, types, contracts, spelling, dead code.
check:
    uv run ruff check .
    uv run ruff format --check .
    uv run mypy .
    uv run lint-imports
    uv run codespell
    uv run vulture

# Run tests: `just test tests/store -k lock`.
test *ARGS:
    uv run pytest {{ ARGS }}

# Fix what can be fixed by a tool.
fix:
    uv run ruff check --fix .
    uv run ruff format .

# Write the generated pages again.
pages:
    uv run python -m tests.tools.where_is_what
    uv run python -m tests.tools.fooling_table
    uv run python -m tests.tools.reference
    uv run python -m tests.tools.write_schemas

# Build the documentation site into site/.
docs:
    uv run --locked --group docs python -m tests.tools.docs_site

# Draw the pictures of the screen again; look at each before you commit it.
pictures:
    uv run pytest tests/tui --snapshot-update

# Print the benchmark table.
bench:
    uv run pytest tests/bench

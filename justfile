# Run `just` to list these commands. CONTRIBUTING.md explains them.

_list:
    @just --list --unsorted

# Install the locked dependencies.
setup:
    uv sync --locked

# Run everything that must pass before a change is merged.
ci:
    .ci/run

# Run the quick checks: lint, format, types, import contracts, spelling and dead code.
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

# Measure the coverage of branches; fails below what pyproject.toml asks for.
coverage:
    uv run pytest --cov --cov-report=term

# Fix lint and format automatically.
fix:
    uv run ruff check --fix .
    uv run ruff format .

# Regenerate the generated pages.
pages:
    uv run python -m tests.tools.where_is_what
    uv run python -m tests.tools.fooling_table
    uv run python -m tests.tools.field_table
    uv run python -m tests.tools.reference
    uv run python -m tests.tools.write_schemas

# Build the documentation site into site/.
docs:
    uv run --locked --group docs python -m tests.tools.docs_site

# Update the snapshots of the screen. Look at each one before you commit it.
pictures:
    uv run pytest tests/tui --snapshot-update

# Print the benchmark table.
bench:
    uv run pytest tests/bench

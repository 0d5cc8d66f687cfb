"""A project to work on, and real other processes."""

from pathlib import Path

import pytest

from ralph_tui.store.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.create()
    return made

"""A file of each format made of boxes, in the form that its tool writes, under the name that it has there."""

from typing import NamedTuple


class Sample(NamedTuple):
    format: str
    path: str
    text: str


FIX_PLAN = Sample(
    "frankbria",
    ".ralph/fix_plan.md",
    """\
# Ralph Fix Plan

## High Priority
- [x] Set up the project
- [ ] Parse the ledger
  - [ ] Reads CSV
  - [x] `uv run pytest tests/test_ledger.py` passes
  Mind the old header line.

## Medium Priority
- [ ] HIGH: Export to JSON
- [ ] Round amounts

## Low Priority / Optional
- [ ] Colors (nice to have)

## Completed
- [x] Choose a license
- [ ] Write the README

## Notes
- Keep it small
- [ ] This is only a remark
""",
)

SPEC_KIT = Sample(
    "spec-kit",
    "specs/001-ledger/tasks.md",
    """\
---
description: "Task list"
---

# Tasks: Ledger

**Input**: Design documents from `/specs/001-ledger/`

## Format: `[ID] [P?] [Story] Description`

<!-- - [ ] T000 not a task -->

## Phase 1: Setup (Shared)

- [X] T001 Create the project
- [ ] T002 [P] Configure the linter
- [ ] T003 [P] Configure types

---

## Phase 2: User Story 1 - Read (Priority: P1)

### Tests for User Story 1

- [ ] T004 [P] [US1] Contract test in tests/test_read.py
- [ ] T005 [P] [US1] Integration test in tests/test_flow.py

### Implementation for User Story 1

- [ ] T006 [US1] Reader in src/read.py (depends on T002, T004-T005)
- [ ] T007 [US1] Errors in src/read.py (depends on T099)

## Phase 3: Polish

- [ ] T008 [P] Documentation in docs/
- [ ] Have somebody look at it

```bash
- [ ] T900 in a code block
```
""",
)

KIRO = Sample(
    "kiro",
    ".kiro/specs/ledger/tasks.md",
    """\
# Implementation Plan

- [x] 1. Set up the project
  - Create the package
  - _Requirements: 1.1_

- [x] 2. Read files
  - Everything below uses the csv module
  - [x] 2.1 Write the reader
    - _Requirements: 1.2, 1.3_
  - [ ]* 2.2 Write property tests for the reader
    - **Validates: Requirements 1.2**
  - [-] 2.3 Report errors with their line

- [ ] 3. Checkpoint
  - Ensure all tests pass.

- [ ]* 4. Benchmarks
- [ ] 5. Wire it up
""",
)

OPENSPEC = Sample(
    "openspec",
    "openspec/changes/add-ledger/tasks.md",
    """\
## 1. Data

- [x] 1.1 Add the model
- [ ] 1.2 Migrate old files
  - Keep a copy of each
  - [ ] A file of 2019 is read

## 2. Interface

- [ ] 2.1 Add the command
- [ ] Tell the users
""",
)

STORY = Sample(
    "bmad",
    "docs/stories/1.2.story.md",
    """\
# Story 1.2: Read the ledger

Status: Approved

## Story

**As a** bookkeeper,
**I want** to read a ledger,
**so that** I can check it.

## Acceptance Criteria

1. A CSV file is read
   with its header.
2. `uv run pytest tests/test_ledger.py` passes

## Tasks / Subtasks

- [ ] Task 1: Reader (AC: 1)
  - [ ] 1.1 Header
- [x] Task 2: Errors

## Dev Notes

Use the csv module.
- [] is an empty list here

## Change Log

| Date | Note |
|---|---|
| today | begun |
""",
)

EPICS = Sample(
    "bmad",
    "docs/epics.md",
    """\
# Ledger - Epics

## Epic 1: Reading

### Story 1.1: Open a file

As a bookkeeper,
I want to open a file.

**Acceptance Criteria:**

**Given** a file
**When** I open it
**Then** it is shown

**And** nothing is written

**Given** no file
**Then** an error is shown

### Story 1.2: Close a file

- **Status:** done

#### Acceptance Criteria

- The handle is closed

## Epic 2: Writing

### Story 2.1: Save

**Acceptance Criteria:**

1. It is saved
""",
)

TODO = Sample(
    "todo",
    "TODO.md",
    """\
# Ledger

Title by underline
------------------

* [ ] Sort by date
* [x] Sort by amount
  1. [ ] Largest first

### Later
- [ ] Colors
- [ ] Colors
- [ ]
""",
)

ALL = (FIX_PLAN, SPEC_KIT, KIRO, OPENSPEC, STORY, EPICS, TODO)

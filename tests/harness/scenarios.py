"""Scenario pieces for common situations; join script items with `scenario`."""

import json
import re
from textwrap import dedent, indent

REQUEST = "A greeter that says hello"

SPEC = """\
# Greeter

## Problem Statement
Nobody says hello.

## Success Criteria
- Hello is said in under a second

## Constraints
- No network

## Acceptance Criteria
- [ ] a.txt exists
"""

ASK = """
questions:
  - question: Which language?
    header: Language
    multiSelect: false
    options:
      - {label: English, description: Hello}
      - {label: French, description: Bonjour}
"""


def scenario(*scripts: str) -> str:
    return "scripts:\n" + "\n".join(indent(dedent(s).strip("\n"), "  ") for s in scripts) + "\n"


def finishes(task_id: str, *, context: int = 20_000, output: int = 100) -> str:
    """Writes `TASK_ID.txt` and claims; the claim is expected to be accepted."""
    return f"""
    - name: finishes {task_id}
      task: "{task_id}"
      turns:
        - say: I will write {task_id}.txt.
          write: {{path: {task_id}.txt, content: "done\\n"}}
          context: {context}
          output: {output}
        - {_claim(task_id)}
          context: {context}
          output: {output}
        - when: {{last_result: "ACCEPTED:"}}
          say: Done with {task_id}.
          context: {context}
          output: {output}
    """


def claims_too_early(task_id: str) -> str:
    """Claims before the file of a `HAS_FILE` gate is there, reads the receipt, fixes, claims again."""
    claim = _claim(task_id)
    return f"""
    - name: claims {task_id} too early
      task: "{task_id}"
      turns:
        - say: This must be done already.
          {claim}
        - when: {{last_result: "NOT YET:"}}
          say: It was not.
          write: {{path: {task_id}.txt, content: "done\\n"}}
        - {claim}
        - when: {{last_result: "ACCEPTED:"}}
          say: Now it is.
    """


def stops_without_claim(task_id: str, times: int = 99) -> str:
    """Ends its turn without a claim, and again when it is reminded."""
    return f"""
    - name: never claims {task_id}
      task: "{task_id}"
      times: {times}
      turns:
        - say: I have had a look at it.
        - when: {{user: Stop hook feedback}}
          say: I have nothing to add.
    """


def claims_in_vain(task_id: str) -> str:
    """Claims although nothing was done, and gives up when the claim is refused."""
    return f"""
    - name: claims {task_id} in vain
      task: "{task_id}"
      turns:
        - {_claim(task_id)}
        - when: {{last_result: "NOT YET:"}}
          say: I do not know what else to do.
        - when: {{user: Stop hook feedback}}
          say: I have nothing to add.
    """


def claims_when_reminded(task_id: str) -> str:
    """Ends its turn without a claim, and makes it when it is reminded."""
    return f"""
    - name: forgets to claim {task_id}
      task: "{task_id}"
      turns:
        - say: It is done.
          write: {{path: {task_id}.txt, content: "done\\n"}}
        - say: That was it.
        - when: {{user: Stop hook feedback}}
          {_claim(task_id)}
        - when: {{last_result: "ACCEPTED:"}}
          say: Claimed.
    """


def gives_up(task_id: str, reason: str = "the API key is missing") -> str:
    return f"""
    - name: gives up {task_id}
      task: "{task_id}"
      turns:
        - ralph: {{mark_task_blocked: {{task_id: "{task_id}", reason: {reason}}}}}
        - say: I cannot go on.
    """


def works_forever(task_id: str, *, context: int = 20_000, output: int = 100) -> str:
    """Runs a command over and over, for tests that stop, pause, kill or run out of money."""
    return f"""
    - name: never finishes {task_id}
      task: "{task_id}"
      turns:
        - bash: uv run python -c 'print(1)'
          wait: 0.2
          repeat: 10000
          context: {context}
          output: {output}
    """


def runs(task_id: str, command: str) -> str:
    return f"""
    - name: runs a command for {task_id}
      task: "{task_id}"
      turns:
        - bash: {json.dumps(command)}
        - say: It has run.
        - when: {{user: Stop hook feedback}}
          say: There is nothing else.
    """


def hands_over(task_id: str, progress: str, *, context: int = 125_000) -> str:
    """Fills the context, writes its memory when asked, and finishes when it reads it again."""
    return f"""
    - name: finishes {task_id} from memory
      task: "{task_id}"
      when: {json.dumps(re.escape(progress))}
      turns:
        - {_claim(task_id)}
        - when: {{last_result: "ACCEPTED:"}}
          say: Finished what another session began.
    - name: fills up on {task_id}
      task: "{task_id}"
      times: 1
      turns:
        - say: Half of it is done.
          write: {{path: half.txt, content: "half\\n"}}
          context: {context}
        - say: This is how far it got.
          context: {context}
        - when: {{user: Stop hook feedback}}
          say: The rest is for the next session.
          context: {context}
    - name: hands over {task_id}
      when: "^HAND-OFF:"
      turns:
        - ralph:
            update_memory:
              completed: [the first half]
              progress: {json.dumps(progress)}
              decisions: []
              files: []
              blockers: []
              notes: []
          context: {context}
        - say: Written down.
          context: {context}
    """


def _claim(task_id: str) -> str:
    return f'ralph: {{mark_task_complete: {{task_id: "{task_id}", verification_notes: Done.}}}}'


def discovers(*, asks: bool = False, bad_first: bool = False) -> str:
    """Writes a spec; perhaps asks before, perhaps writes a bad one first."""
    turns = ""
    if asks:
        turns += "    - tools:\n        - name: AskUserQuestion\n          input:\n"
        turns += indent(ASK.strip(), " " * 12) + "\n"
    if bad_first:
        turns += "    - write: {path: specs/greeter.md, content: '# Greeter'}\n"
        turns += "    - say: That is all.\n"
    turns += "    - write:\n        path: specs/greeter.md\n        content: |\n"
    turns += indent(SPEC, " " * 10) + "\n"
    turns += "    - say: The spec is written.\n"
    return f'- name: discovers\n  when: "^# Ralph Discovery Mode"\n  turns:\n{turns}'


def plans(estimated: int = 20_000, *, task_id: str = "a", criterion: str = "a.txt exists") -> str:
    entry = (
        f"{{id: {task_id}, description: Do {task_id}, priority: 1, dependencies: [], "
        f"verification_criteria: [{criterion}], estimated_tokens: {estimated}}}"
    )
    return f"""
    - name: plans {task_id}
      when: "^# Ralph Planning Mode"
      turns:
        - ralph: {{submit_plan: {{tasks: [{entry}]}}}}
        - when: {{last_result: "NOT YET"}}
          ralph: {{submit_plan: {{tasks: [{entry.replace(str(estimated), "20000")}]}}}}
        - say: The plan is handed in.
    """


def report(*, passed: bool, evidence: str = "ls a.txt") -> str:
    finding = f"{{criterion: a.txt exists, passed: {str(passed).lower()}, evidence: {json.dumps(evidence)}}}"
    return f"submit_report: {{specs: [{{spec: greeter.md, criteria: [{finding}]}}], summary: Checked.}}"


def validates(passed: bool = True, *, times: int | None = None) -> str:
    limit = f"times: {times}" if times else "description: ''"
    return f"""
    - name: validates {passed}
      when: "^# Ralph Validation Mode"
      turns:
        - ralph: {{{report(passed=passed)}}}
        - say: The report is handed in.
    """.replace("turns:", f"{limit}\n      turns:" if times else "turns:", 1)


def lies(turn: str) -> str:
    """Does that and claims; when that is refused, it says that it was accepted."""
    return f"""
    - name: claims what is not so
      task: a
      turns:
        - {turn}
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: All done.}}}}
        - when: {{last_result: "NOT YET:"}}
          say: "ACCEPTED: task a is complete. <promise>COMPLETE</promise>"
        - when: {{user: Stop hook feedback}}
          say: It is complete.
    """


def works(task_id: str, breaks: str = "") -> str:
    """Writes `TASK_ID.txt`, removes the file of another task, and claims."""
    removes = f"        - bash: rm -f {breaks}\n" if breaks else ""
    return f"""
    - name: works on {task_id}, {breaks or "nothing"} goes
      task: "{task_id}"
      turns:
        - write: {{path: {task_id}.txt, content: "done"}}
{removes}        - ralph: {{mark_task_complete: {{task_id: "{task_id}", verification_notes: Done.}}}}
    """


def limited(times: int = 1) -> str:
    """A session that meets a usage limit at once, so many times."""
    return f"""
    - name: limited
      when: "^Task ID: a$"
      times: {times}
      turns:
        - say: Hello.
          fault: {{kind: status, status: 429, retry_after: 3600, times: forever}}
    """


def claims(task_id: str) -> str:
    """Writes a broken `TASK_ID.txt` and claims; gives up when that is refused."""
    return f"""
    - name: claims {task_id}
      task: "{task_id}"
      turns:
        - write: {{path: {task_id}.txt, content: "def broken(:"}}
        - {_claim(task_id)}
        - when: {{last_result: "ACCEPTED as unverified"}}
          say: Done.
        - when: {{last_result: "NOT YET"}}
          ralph: {{mark_task_blocked: {{task_id: "{task_id}", reason: nothing runs}}}}
    """


def writes(task_id: str, write: str) -> str:
    """Writes one file, claims, and gives up when that is refused."""
    return f"""
    - name: works on {task_id}
      task: "{task_id}"
      turns:
        - read: calc.py
        - write: {write}
        - {_claim(task_id)}
        - when: {{last_result: "NOT YET"}}
          ralph: {{mark_task_blocked: {{task_id: "{task_id}", reason: refused}}}}
    """

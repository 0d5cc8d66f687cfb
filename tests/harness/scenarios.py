"""Scenario pieces for common situations; join script items with `scenario`."""

import json
import re
from textwrap import dedent, indent


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


def stops_without_claim(task_id: str) -> str:
    """Ends its turn without a claim, and again when it is reminded."""
    return f"""
    - name: never claims {task_id}
      task: "{task_id}"
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

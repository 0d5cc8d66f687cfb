"""The child process that judges commands. It loads nothing else, because every run waits for it."""

import json
import pickle
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from ralph_tui.guard.analysis.judge import judge_command
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.verdicts import SPLIT, unreadable

_CHILD_LIFE = 5.0
"""Seconds after which a hung child kills itself, in case its parent is gone."""
READY = b"ready\n"


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Run the child: a line holds a policy, or a command to judge by it; write one verdict per command."""
    policy = Policy(root=Path("/"))
    judge_command("true", policy)  # loads the rules before the first deadline runs
    sink.write(READY)
    sink.flush()
    for line in source:
        message = json.loads(line)
        if "policy" in message:
            policy = pickle.loads(bytes.fromhex(message["policy"]))  # noqa: S301 - from the parent
            continue
        _set_alarm(_CHILD_LIFE)
        try:
            verdict = judge_command(message["command"], policy)
        except RecursionError:
            verdict = unreadable("", f"The command is nested too deeply. {SPLIT}")
        sink.write(json.dumps(asdict(verdict)).encode() + b"\n")
        sink.flush()
        _set_alarm(0)


def _set_alarm(seconds: float) -> None:
    """End this process after `seconds`, even inside C code; 0 cancels. Windows has no such alarm."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)

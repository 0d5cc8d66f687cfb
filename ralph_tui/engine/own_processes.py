"""The processes that an agent must not signal: ralph's own, and those it runs under."""

from ralph_tui.guard.policy import Policy

_LONGEST = 1000
"""Characters of a command line that patterns are compared with."""


def shielding_own(policy: Policy) -> Policy:
    """The policy, with the numbers and command lines of this process and its parents."""
    import psutil

    pids, lines = [], []
    try:
        this = psutil.Process()
        chain = [this, *this.parents()]
    except psutil.Error:
        chain = []
    for process in chain:
        pids.append(process.pid)
        try:
            line = " ".join(process.cmdline()) or process.name()
            lines += [line[:_LONGEST], process.name()]
        except psutil.Error:  # another user's, or gone; its number is kept all the same
            continue
    held = dict.fromkeys((*policy.own_processes, *lines))
    return policy.model_copy(update={"own_pids": tuple(pids), "own_processes": tuple(held)})

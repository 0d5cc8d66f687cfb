"""Whether the CLI offers the tools of the phase, and no others."""

from ralph_tui.agent.tools import SERVER_NAME


def tool_difference(
    expected: tuple[str, ...], offered: tuple[str, ...], servers: tuple[str, ...] = ()
) -> str:
    """What is wrong with the CLI's tools, as a sentence; those of our and the extra servers may vary."""
    wanted = {"Task" if name == "Agent" else name for name in expected}
    prefixes = tuple(f"mcp__{name}__" for name in (SERVER_NAME, *servers))
    have = {n for n in offered if not n.startswith(prefixes)}
    missing, extra = sorted(wanted - have), sorted(have - wanted)
    parts = []
    if missing:
        parts.append(f"the CLI does not offer {', '.join(missing)}")
    if extra:
        parts.append(f"the CLI offers {', '.join(extra)} outside the phase")
    return f"Tools differ from the plan: {'; '.join(parts)}." if parts else ""

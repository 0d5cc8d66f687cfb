"""Plans that other Ralphs keep: which one is here, and what to do with it."""

from pathlib import Path

PLANS = (".ralph/fix_plan.md", "@fix_plan.md", "fix_plan.md", ".ralph/prd.json", "prd.json")
"""Of ralph-claude-code, older ones of it, and of those who keep user stories."""


def plan_of_another(root: Path) -> str:
    """A sentence about another tool's plan in this project; empty where there is none."""
    name = next((name for name in PLANS if (root / name).is_file()), "")
    if not name:
        return ""
    return f"{name} is another tool's plan: `ralph run @{name}` makes specs and tasks of it, and leaves it as it is."

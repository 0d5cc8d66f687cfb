"""Build the documentation site: `uv run --group docs python -m tests.tools.docs_site [FOLDER]`.

The site is built from a copy, so that pages of the repository's root and the screenshots become part of it. The build fails on
a broken link or anchor, and on a page that would load something from another host.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "zensical.toml"
DOCS = ROOT / "docs"
FROM_THE_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages that GitHub wants in the root."""

ELSEWHERE = {"README.md": "index.md"}
"""Pages of the repository that the site replaces by one of its own."""

LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")

LONG_NAME_IN_CELL = re.compile(r"(?<=<td><code>)[\w.]{25,}(?=</code>)")

COLOR = re.compile(r"\x1b\[[0-9;]*m")

LOADS = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|preconnect|icon|manifest))[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//"""
    r"""|url\(["']?(?:https?:)?//""",
    re.IGNORECASE,
)
"""What makes a browser ask another host while it shows a page."""


def stage(folder: Path) -> None:
    """Copy the pages and pictures into a folder, with links that are right there."""
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("examples", "*.yaml"))
    shutil.copytree(ROOT / "screenshots", folder / "screenshots")
    for name in FROM_THE_ROOT:
        shutil.copyfile(ROOT / name, folder / name)
    for page in folder.rglob("*.md"):
        staged = page.relative_to(folder).as_posix()
        origin = staged if staged in FROM_THE_ROOT else f"docs/{staged}"
        text = page.read_text(encoding="utf-8")
        page.write_text(with_staged_links(text, origin, staged), encoding="utf-8")


def with_staged_links(text: str, origin: str, staged: str) -> str:
    """Point the relative links of a page to where the copy has their files."""

    def moved(found: re.Match[str]) -> str:
        named = PurePosixPath(os.path.normpath(PurePosixPath(origin).parent / found[2])).as_posix()
        target = ELSEWHERE.get(named, named.removeprefix("docs/"))
        relative = os.path.relpath(target, PurePosixPath(staged).parent)
        return f"{found[1]}{PurePosixPath(relative).as_posix()}{found[3]}"

    return LINK.sub(moved, text)


def with_places_to_break(html: str) -> str:
    return LONG_NAME_IN_CELL.sub(lambda found: re.sub(r"([_.])(?=\w)", r"\1<wbr>", found[0]), html)


def loads_from_elsewhere(site: Path) -> list[str]:
    """List the files of a built site that load something from another host."""
    return sorted(
        path.relative_to(site).as_posix()
        for suffix in ("html", "css")
        for path in site.rglob(f"*.{suffix}")
        if LOADS.search(path.read_text(encoding="utf-8"))
    )


def build(site: Path) -> str:
    """Build the site."""
    with tempfile.TemporaryDirectory(prefix="ralph-docs.") as name:
        work = Path(name)
        shutil.copyfile(CONFIG, work / CONFIG.name)
        stage(work / "docs")
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(
            command,
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return COLOR.sub("", done.stdout) or done.stderr
        if outside := loads_from_elsewhere(work / "site"):
            return f"These files load something from another host: {', '.join(outside)}\n"
        for page in (work / "site").rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            page.write_text(with_places_to_break(text), encoding="utf-8")
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(work / "site", site)
    return ""


def main() -> int:
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    if wrong := build(site):
        sys.stderr.write(wrong)
        return 1
    sys.stdout.write(f"{site / 'index.html'}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

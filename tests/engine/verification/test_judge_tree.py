"""The judge tree: what a command finds in it, with and without the sandbox, and what stays outside."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ralph_tui.engine.safety.command_sandbox import CommandSandbox
from ralph_tui.engine.verification.check_command import CommandResult, run_command
from ralph_tui.engine.verification.judge_tree import JudgeTree
from ralph_tui.guard.sandbox.os_sandbox import sandbox_for, sandbox_problem
from tests.engine.verification.evidence.projects import Changes, write

MODES = [
    pytest.param(False, id="plain"),
    pytest.param(
        True,
        id="sandbox",
        marks=pytest.mark.skipif(bool(sandbox_problem()), reason="the sandbox does not work here"),
    ),
]
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}


class Place:
    """A project and its judge tree."""

    def __init__(self, root: Path, files: Changes, *, confined: bool) -> None:
        self.root = root
        write(root, files)
        self.tree = JudgeTree(root)
        self.confined = confined
        self._sandbox = CommandSandbox(
            root, sandbox_for(root, Path.home(), os.environ) if confined else None
        )

    def move(self, changes: Changes | None = None) -> None:
        """Change the project, and put it into the tree as it is then."""
        write(self.root, changes or {})
        self.tree.write(self.tree.store.take(), confined=self.confined)

    async def run(self, command: str, *, inside: bool = True) -> CommandResult:
        tree = self.tree
        return await run_command(
            tree.command(command) if inside else command,
            cwd=tree.cwd if inside else self.root,
            environment=ENVIRONMENT | (tree.variables(()) if inside else {}),
            limit_seconds=60,
            prefix=self._sandbox.prefix("", (), tree.mounts if inside else ()),
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Place"]:
        (self.root / ".ralph").mkdir(exist_ok=True)
        self.tree.start()
        await self._sandbox.open()
        try:
            yield self
        finally:
            self.tree.close()
            await self._sandbox.close()


def with_editable_install(root: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    (site,) = (root / ".venv/lib").glob("python*/site-packages")
    (site / "sample.pth").write_text(f"{root / 'src'}\n")


def git(root: Path, *words: str) -> str:
    identity = ("-c", "user.name=me", "-c", "user.email=me@localhost")
    done = subprocess.run(
        ["git", *identity, *words], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


PACKAGE = {
    ".gitignore": "node_modules/\n.venv/\ndist/\n.env\n",
    "packages/app/node_modules/pad/index.js": "module.exports = 5\n",
    "packages/app/node_modules/.bin/pad": "",
    "packages/app/use.js": "console.log(require('pad'))\n",
    ".env": "secret\n",
    "packages/app/.env": "deep\n",
    "dist/old.js": "old\n",
}


@pytest.mark.parametrize("confined", MODES)
async def test_what_was_there_enters_at_any_depth_and_what_a_command_wrote_does_not(
    tmp_path: Path, *, confined: bool
) -> None:
    made = Place(tmp_path / "project", PACKAGE, confined=confined)
    async with made.opened():
        write(
            made.root,
            {
                "dist/new.js": "output\n",
                "late.log": "",
                ".gitignore": "*.log\n" + PACKAGE[".gitignore"],
            },
        )
        made.move({"kept.txt": "new\n"})
        command = f"node packages/app/use.js && cat .env packages/app/.env {made.root}/kept.txt"
        done = await made.run(f"{command} && ls && mkdir dist && echo mine > dist/x")
        assert done.tail.split() == ["5", "secret", "deep", "new", "kept.txt", "packages"], (
            done.tail
        )
        made.move()
        again = await made.run("cat dist/x; echo x > packages/app/node_modules/pad/index.js")
        assert again.tail.startswith("mine\n"), "its own output is kept"
    if confined:
        assert "Read-only" in again.tail
        assert (
            (made.root / "packages/app/node_modules/pad/index.js").read_text().startswith("module")
        )
    assert sorted(path.name for path in (made.root / "dist").iterdir()) == ["new.js", "old.js"]


@pytest.mark.parametrize("confined", MODES)
async def test_packages_that_link_to_each_other_are_those_of_the_tree(
    tmp_path: Path, *, confined: bool
) -> None:
    files = {
        ".gitignore": "node_modules/\n",
        "packages/core/index.js": "module.exports = 1\n",
        "node_modules/pad/index.js": "module.exports = 5\n",
        "use.js": "console.log(require('@shop/core'), require('@shop/pad'), require('pad'))\n",
    }
    made = Place(tmp_path / "project", files, confined=confined)
    (scope := made.root / "node_modules/@shop").mkdir()
    (scope / "core").symlink_to("../../packages/core")
    (scope / "pad").symlink_to("../pad")
    async with made.opened():
        made.move({"packages/core/index.js": "module.exports = 2\n"})
        for _ in range(2):
            assert (await made.run("node use.js")).tail == "2 5 5\n"
            made.move({"packages/core/index.js": "module.exports = 2\n"})
    assert (scope / "core").readlink() == Path("../../packages/core")


@pytest.mark.parametrize("confined", MODES)
async def test_metadata_of_an_editable_install_is_written_again(
    tmp_path: Path, *, confined: bool
) -> None:
    files = {".gitignore": "*.egg-info\n", "x.egg-info/PKG-INFO": "old\n"}
    made = Place(tmp_path / "project", files, confined=confined)
    async with made.opened():
        made.move()
        done = await made.run("cat x.egg-info/PKG-INFO && echo new > x.egg-info/PKG-INFO")
    assert (done.exit_code, done.tail) == (0, "old\n")
    assert (made.root / "x.egg-info/PKG-INFO").read_text() == "old\n"


def test_a_built_program_stays_out_and_a_compiled_catalog_enters(tmp_path: Path) -> None:
    files = {".gitignore": "*.mo\n/slug\n", "slug.c": "", "slug": "\0", "de.po": "", "de.mo": "\0"}
    made = Place(tmp_path / "project", files, confined=False)
    made.tree.start()
    made.move()
    made.tree.close()
    assert {path.name for path in made.tree.root.iterdir()} >= {"slug.c", "de.po", "de.mo"}
    assert not (made.tree.root / "slug").exists()


@pytest.mark.parametrize("confined", MODES)
async def test_its_repository_is_its_own(tmp_path: Path, *, confined: bool) -> None:
    made = Place(
        tmp_path / "project",
        {"a.py": "1\n", ".gitignore": "*.gen\n", "kept.gen": "1\n"},
        confined=confined,
    )
    git(tmp_path, "init", "-q", "-b", "main", "project")
    git(made.root, "add", "-f", ".")
    git(made.root, "commit", "-qm", "first")
    git(made.root, "tag", "v1.2")
    before = git(made.root, "rev-parse", "HEAD")
    async with made.opened():
        made.move({"a.py": "2\n", "new.py": "3\n"})
        asked = "git describe --tags && git ls-files && git status --short && cat kept.gen"
        done = await made.run(asked)
        assert done.tail.split("\n") == [
            "v1.2", ".gitignore", "a.py", "kept.gen", " M a.py", "?? new.py", "1", "",
        ], done.tail  # fmt: skip
        done = await made.run(
            "git -c user.name=x -c user.email=x@x commit -qam other && git tag v9 && git log --oneline | wc -l"
        )
        assert done.tail.split() == ["2"], done.tail
        made.move()
        assert (await made.run("git describe --tags")).tail.strip() == "v1.2"
    assert git(made.root, "rev-parse", "HEAD") == before
    assert git(made.root, "tag") == "v1.2"


@pytest.mark.skipif(bool(sandbox_problem()), reason="the sandbox does not work here")
async def test_in_the_sandbox_nothing_tells_the_tree_from_the_project(tmp_path: Path) -> None:
    made = Place(
        tmp_path / "project", {"src/sample.py": "", ".gitignore": ".venv/\n"}, confined=True
    )
    with_editable_install(made.root)
    async with made.opened():
        made.move({"only_here.txt": ""})
        (made.root / "only_here.txt").unlink()
        command = f"{made.root}/.venv/bin/python -c 'import sample; print(sample.__file__)'; pwd; ls; ls -d .ralph"
        done = await made.run(command)
        assert done.tail.split("\n")[:4] == [
            f"{made.root}/src/sample.py",
            str(made.root),
            "only_here.txt",
            "src",
        ]
        assert "cannot access '.ralph'" in done.tail
        await made.run("echo written > src/sample.py")
    assert (made.root / "src/sample.py").read_text() == ""
    assert not list(made.root.rglob("src/__pycache__"))


def test_whatever_a_check_left_the_next_tree_is_exact(tmp_path: Path) -> None:
    made = Place(tmp_path / "project", {"a.py": "1\n", "d/b.py": "1\n"}, confined=False)
    made.move()
    tree = made.tree.root
    write(tree, {"a.py": "rewritten\n", "left/x": ""})
    (tree / "d/b.py").unlink()
    (tree / "d").rmdir()
    (tree / "d").symlink_to(made.root)
    (made.tree.place / "index.lock").touch()  # a git that was killed
    (made.tree.store._git_dir / "index.lock").touch()
    made.move({"a.py": "2\n"})
    found = {str(p.relative_to(tree)): p.read_text() for p in tree.rglob("*") if p.is_file()}
    assert found == {"a.py": "2\n", "d/b.py": "1\n"}
    assert (made.root / "d/b.py").read_text() == "1\n"


def test_two_at_once_have_a_tree_each_and_a_dead_one_leaves_its_own(tmp_path: Path) -> None:
    first, second = (Place(tmp_path / "project", {"a": str(n)}, confined=False) for n in (1, 2))
    first.move()
    second.move({"a": "2"})
    assert first.tree.root != second.tree.root
    assert (first.tree.root / "a").read_text() == "2"
    first.tree.close()
    third = Place(tmp_path / "project", {}, confined=False)
    third.move()
    assert third.tree.root == first.tree.root


TRY = """\
import os, sys
from pathlib import Path

from ralph_tui.engine.verification.evidence.installed_packages import installed
from ralph_tui.engine.verification.judge_tree import JudgeTree

for change in (os.setgid, os.setuid):
    change(12345)
tree = JudgeTree(Path(sys.argv[1]))
tree.start()
tree.write(tree.store.take())
assert not installed(tree.project, ["pgdata/"])
print(*sorted(path.name for path in tree.root.iterdir()), tree.left_out)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_what_cannot_be_read_is_left_out_and_named() -> None:
    with tempfile.TemporaryDirectory() as directory:  # pytest's own is closed to other users
        root = Path(directory, "project")
        write(root, {"a": "1", ".gitignore": "pgdata/\n", "pgdata/x": "1", "server.key": "s"})
        git(root, "init", "-q", "nested")
        for path in (Path(directory), root, *root.rglob("*")):
            os.chown(path, 12345, 12345)
            path.chmod(0o755)
        for path in (root / "server.key", root / "pgdata"):
            os.chown(path, 0, 0)
            path.chmod(0)
        done = subprocess.run(
            [sys.executable, "-c", TRY, root], env={**ENVIRONMENT, "HOME": directory, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.stdout == ".gitignore a nested ('nested', 'server.key', 'pgdata')\n", done.stderr


KILLED = """\
import sys
from pathlib import Path
from ralph_tui.engine.verification.judge_tree import JudgeTree

tree = JudgeTree(Path(sys.argv[1]))
while True:
    for name in sys.argv[2:]:
        tree.write(name)
        print(tree.root, flush=True)
"""


def test_a_killed_one_leaves_nothing_that_the_next_one_minds(tmp_path: Path) -> None:
    many = {f"d{n % 7}/{n}.txt": "1\n" for n in range(600)}
    made = Place(tmp_path / "project", many, confined=False)
    first = made.tree.store.take()
    write(made.root, dict.fromkeys(many, "2\n"))
    second = made.tree.store.take()
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    for moment in (0.0, 0.013, 0.037):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, made.root, first, second], env=environment, stdout=subprocess.PIPE, text=True
        ) as killed:  # fmt: skip
            assert killed.stdout is not None
            place = killed.stdout.readline().strip()
            with contextlib.suppress(subprocess.TimeoutExpired):
                killed.wait(moment)
            killed.kill()
        made.move()
        assert str(made.tree.root) == place
        assert {path.read_text() for path in made.tree.root.rglob("*.txt")} == {"2\n"}
        assert sorted(p.name for p in made.tree.place.parent.iterdir() if "judge" in p.name) == [
            "judge"
        ]
        made.tree.close()


@pytest.mark.parametrize(
    ("output", "missing"),
    [
        ("FileNotFoundError: [Errno 2] No such file: 'build/schema.json'", "build/schema.json"),
        ("ENOENT: no such file or directory, open 'ROOT/build/schema.json'", "build/schema.json"),
        ("AssertionError: 1 != 2 in kept.txt", ""),
    ],
)  # fmt: skip
def test_what_a_check_lacks_in_the_tree_is_named(tmp_path: Path, output: str, missing: str) -> None:
    made = Place(tmp_path / "project", {"kept.txt": "", ".gitignore": "build/\n"}, confined=False)
    made.tree.start()
    write(made.root, {"build/schema.json": "{}"})
    made.move()
    assert made.tree.missing(output.replace("ROOT", str(made.tree.root))) == missing


SOURCES = {
    "a.py": ("x = 1\n", "python3 a.py"),
    "b.mjs": ("let x = 1\n", "node b.mjs"),
    "c.sh": ("true\n", "sh c.sh"),
    "d.c": ("int main(void) { return 0; }\n", "gcc -fsyntax-only d.c"),
    "e.pl": ("print 1;\n", "perl e.pl"),
}


async def test_broken_sources_are_red_in_every_language_and_data_is_as_it_was(
    tmp_path: Path,
) -> None:
    files = {name: text for name, (text, _) in SOURCES.items()}
    made = Place(
        tmp_path / "project", {**files, "data.json": "{}", "+x tool": "#!/bin/sh\n"}, confined=False
    )
    broken = made.tree.broken(made.tree.start(), {*SOURCES, "tool", "gone.py"}.__contains__)
    for tree, green in ((made.tree.base, True), (broken, False)):
        made.tree.write(tree)
        for _, command in SOURCES.values():
            done = await made.run(command)
            assert (done.exit_code == 0) is green, (command, done.tail)
    assert (made.tree.root / "data.json").read_text() == "{}"
    assert os.access(made.tree.root / "tool", os.X_OK)


async def test_a_source_of_the_same_size_and_second_is_read_anew(tmp_path: Path) -> None:
    async with Place(tmp_path, {"m.py": "x = 0\n"}, confined=False).opened() as place:
        printed = ""
        for number in range(8):
            place.move({"m.py": f"x = {number}\n"})
            printed += (await place.run("python3 -S -c 'import m; print(m.x)'")).tail
    assert printed.split() == [*"01234567"]

"""Fetches packages with the registries' own clients, checks their hashes, and keeps them outside the repository."""

import fcntl
import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

try:
    OWN = Path(pwd.getpwuid(os.getuid()).pw_dir)
except KeyError:  # a user without a name
    OWN = Path.home()
CACHE = Path(os.environ.get("RALPH_FIELD", OWN / ".cache/ralph-field"))
"""Archives, and the caches of the clients."""
CLIENTS = {"UV_CACHE_DIR": f"{CACHE}/uv", "npm_config_cache": f"{CACHE}/npm"}
SECONDS = 600
_APT = (
    "apt-get", "-qq", f"-oDir::Etc::sourcelist={CACHE}/apt/sources.list", "-oDir::Etc::sourceparts=-",
    f"-oDir::State::lists={CACHE}/apt/lists", f"-oDir::Cache={CACHE}/apt/cache",
)  # fmt: skip
_DEBIAN = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main"


class RegistryError(Exception):
    """A registry was not reached, or has no such package."""


class Source(BaseModel, extra="forbid"):
    """A published package. `sha256` is that of its sdist, its tarball or its .dsc file."""

    registry: Literal["PyPI", "npm", "Debian"]
    name: str
    version: str
    sha256: str
    debs: tuple[str, ...] = ()
    """Packages of Debian that it needs. They are unpacked, not installed."""


def ran(
    *command: str, cwd: Path, environment: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def _run(*command: str, cwd: Path) -> None:
    try:
        done = ran(*command, cwd=cwd, environment={**os.environ, **CLIENTS})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RegistryError(f"{command[0]}: {error}") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise RegistryError(f"{command[0]}: {''.join(last)}")


def _lists(directory: Path) -> None:
    """Fetch Debian's lists once."""
    apt = CACHE / "apt"
    if (apt / "fetched").exists():
        return
    for path in (apt / "lists/partial", apt / "cache/archives/partial"):
        path.mkdir(parents=True, exist_ok=True)
    (apt / "sources.list").write_text(f"deb {_DEBIAN}\ndeb-src {_DEBIAN}\n", encoding="utf-8")
    _run(*_APT, "update", cwd=directory)
    (apt / "fetched").touch()


def _download(source: Source, directory: Path) -> None:
    exact = f"{source.name}=={source.version}"
    if source.registry == "PyPI":
        only = ("--no-deps", "--no-binary", source.name)
        _run("uvx", "--quiet", "pip", "download", "--quiet", *only, exact, cwd=directory)
    elif source.registry == "npm":
        _run("npm", "pack", "--silent", f"{source.name}@{source.version}", cwd=directory)
    else:
        _lists(directory)
        crate = source.name.startswith("librust-")  # a binary package that holds a crate's sources
        how = ("download",) if crate else ("source", "--download-only", "--only-source")
        _run(*_APT, *how, f"{source.name}={source.version}", cwd=directory)


def _archive(directory: Path) -> Path:
    return min(directory.iterdir(), key=lambda path: (path.suffix != ".dsc", path.name))


def fetched(source: Source) -> Path:
    """The archive, from the cache or from its registry."""
    kept = CACHE / source.registry / f"{source.name.replace('/', '+')}-{source.version}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.is_dir():
            with tempfile.TemporaryDirectory(dir=CACHE) as directory:
                new = Path(directory, "new")
                new.mkdir()
                _download(source, new)
                new.rename(kept)
    archive = _archive(kept)
    if (found := hashlib.sha256(archive.read_bytes()).hexdigest()) != source.sha256:
        raise ValueError(f"{archive} has the hash {found}, not {source.sha256}")
    return archive


def unpack(source: Source, into: Path) -> None:
    """Unpack a package into a new directory, without what its registry added."""
    archive = fetched(source)
    if archive.suffix == ".deb":
        _run("dpkg-deb", "--extract", str(archive), str(into), cwd=into.parent)
        (crate,) = into.glob("usr/share/cargo/registry/*")
        shutil.copytree(crate, into, dirs_exist_ok=True)
        shutil.rmtree(into / "usr")
        (into / ".cargo-checksum.json").unlink()
        return
    if source.registry == "Debian":
        _run("dpkg-source", "--extract", str(archive), str(into), cwd=into.parent)
        for name in (".pc", "debian"):
            shutil.rmtree(into / name, ignore_errors=True)
        return
    with tempfile.TemporaryDirectory(dir=into.parent) as directory:
        _run("tar", "-x", "-f", str(archive), "--no-same-owner", cwd=Path(directory))
        (inner,) = Path(directory).iterdir()
        for made in inner.glob("**/*.egg-info"):
            shutil.rmtree(made)
        inner.rename(into)


def unpacked_debs(source: Source) -> Path:
    """A directory with the contents of the packages that a source needs."""
    place = CACHE / "debs" / f"{source.name}-{source.version}"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if source.debs and not place.is_dir():
            with tempfile.TemporaryDirectory(dir=CACHE) as directory:
                new = Path(directory, "new")
                new.mkdir()
                _lists(new)
                _run(*_APT, "download", *source.debs, cwd=Path(directory))
                for deb in Path(directory).glob("*.deb"):
                    _run("dpkg-deb", "--extract", str(deb), str(new), cwd=new)
                place.parent.mkdir(exist_ok=True)
                new.rename(place)
    return place

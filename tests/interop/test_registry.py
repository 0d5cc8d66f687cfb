"""A file is detected by what is in it; importers of other packages are loaded late and may be broken."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.interop import format_registry
from ralph_tui.interop.format_registry import Formats, formats, is_exporter
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, Source


class Fits:
    """Knows a file by one word."""

    def __init__(self, name: str, word: str, sure: int = 80) -> None:
        self.name, self.word, self.sure = name, word, sure

    def sniff(self, source: Source) -> int:
        return self.sure if self.word in source.head else 0

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        return Imported(self.name, (Task(id="1"),))


class Installed(Fits):
    """As another package would write it."""

    def __init__(self) -> None:
        super().__init__("installed", "zebra")

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        raise KeyError("stripes")

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        raise ValueError("no ink")


not_an_importer = 7


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    formats.cache_clear()
    yield
    formats.cache_clear()


def install(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    group = format_registry.ENTRY_POINTS
    found = EntryPoints(EntryPoint(name, value, group) for name, value in points.items())
    monkeypatch.setattr(format_registry, "entry_points", lambda *, group: found.select(group=group))


FORMATS = Formats((Fits("a", "apple"), Fits("b", "berry"), Fits("c", "berry")), ("One is broken.",))


def test_the_importer_that_is_most_sure_wins() -> None:
    assert FORMATS.detect(Source("f", "an apple")).name == "a"
    surest = Formats((*FORMATS.importers, Fits("d", "berry", 90)))
    assert surest.detect(Source("f", "a berry")).name == "d"
    assert FORMATS.named(" A ").name == "a"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "nothing",
            "f: the format of this file is unknown. Choose the format with `--as`: a, b, c. One is broken.",
        ),
        ("a berry", "f: the file fits b and c equally well. Choose one with `--as`."),
        (" \n", "f: the file is empty. Give the path of a file with tasks."),
    ],
)
def test_what_cannot_be_decided_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InteropError) as told:
        FORMATS.detect(Source("f", text))
    assert str(told.value) == sentence


def test_an_unknown_name_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(InteropError, match=r"unknown format 'q'.* a, b, c"):
        FORMATS.named("q")


def test_an_installed_importer_is_loaded_and_its_faults_are_sentences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, mine=f"{__name__}:Installed")
    importer = format_registry.formats().detect(Source("f", "zebra"))
    assert importer.name == "installed"
    with pytest.raises(InteropError, match="the installed importer 'installed' failed: KeyError"):
        importer.read(Source("f", "zebra"), ImportOptions())
    assert is_exporter(importer)
    with pytest.raises(InteropError, match="ValueError: no ink"):
        importer.write(ImplementationPlan(), Source("f", ""))


def test_a_broken_one_is_told_and_the_others_work(monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        monkeypatch,
        a="no.such.module:Importer",
        b=f"{__name__}:not_an_importer",
        c=f"{__name__}:Installed",
        d=f"{__name__}:Installed",
    )
    found = formats()
    assert [importer.name for importer in found.importers][-1] == "installed"
    missing, odd, twice = found.broken
    assert missing.startswith("The installed importer 'a' could not be loaded: ModuleNotFoundError")
    assert "'b' could not be loaded: TypeError: it has no sniff()" in odd
    assert "'d' is ignored: the format 'installed' already exists." in twice


@pytest.mark.parametrize("name", ["frankbria", "spec-kit", "kiro"])
def test_most_formats_are_updated_and_never_made_new(name: str) -> None:
    importer = formats().named(name)
    assert is_exporter(importer)
    with pytest.raises(InteropError, match=r"cannot create them\. Choose prd, wiggum or todo\."):
        importer.write(ImplementationPlan(), Source("new.md", ""))


@pytest.mark.parametrize("name", ["taskmaster", "beads", "bmad", "github"])
def test_what_is_no_flag_and_no_box_is_only_read(name: str) -> None:
    assert not is_exporter(formats().named(name))


@pytest.mark.parametrize(
    ("alias", "name"),
    [("snarktank", "prd"), ("Hybrid", "prd"), ("go", "wiggum"), ("gh", "github"), ("bd", "beads")],
)
def test_a_format_has_the_names_under_which_people_know_it(alias: str, name: str) -> None:
    assert format_registry.formats().named(alias).name == name

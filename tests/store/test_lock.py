import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from ralph_tui.domain.errors import LockedError, StoreError
from ralph_tui.store import lock
from ralph_tui.store.lock import LoopLock, Owner, this_process, write_lock
from ralph_tui.store.project import Project
from tests.store.helpers import NOW, count_up, process, read_line, with_tasks

COUNT = """
from tests.store.helpers import count_up
print("ready", flush=True)
sys.stdin.readline()
for _ in range(25):
    project.transact(count_up)
print("done", flush=True)
"""

HOLD_WRITE = """
from ralph_tui.store.lock import write_lock
with write_lock(project.layout):
    print("held", flush=True)
    sys.stdin.readline()
"""

OWN = """
mine = LoopLock(project.layout)
mine.acquire("child")
print("owned", flush=True)
sys.stdin.readline()
mine.release()
print("released", flush=True)
sys.stdin.readline()
"""


def test_no_change_of_many_processes_is_lost(project: Project) -> None:
    with_tasks(project, "a")
    with ExitStack() as stack:
        children = [stack.enter_context(process(project.root, COUNT)) for _ in range(3)]
        for child in children:
            assert read_line(child) == "ready"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        for _ in range(10):
            project.transact(count_up)
        assert [read_line(child) for child in children] == ["done"] * 3
    loaded = project.load()
    assert loaded.state.iteration_count == loaded.plan.tasks[0].retry_count == 3 * 25 + 10


def test_no_change_of_many_threads_is_lost(project: Project) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: project.transact(count_up), range(40)))
    assert project.load().state.iteration_count == 40


def test_waiting_too_long_names_the_holder(project: Project) -> None:
    with process(project.root, HOLD_WRITE) as child:
        assert read_line(child) == "held"
        with (
            pytest.raises(StoreError, match=f"pid {child.pid}") as caught,
            write_lock(project.layout, timeout=0.05),
        ):
            pass
        assert caught.value.hint
        assert project.load().state.iteration_count == 0  # reading needs no lock
        child.kill()
        child.wait()
        project.transact(count_up)  # the kernel freed it


def test_one_process_owns_the_loop(project: Project) -> None:
    ours = LoopLock(project.layout)
    assert ours.owner() is None
    with process(project.root, OWN) as child:
        assert read_line(child) == "owned"
        owner = ours.owner()
        assert owner is not None
        assert (owner.pid, owner.run_id) == (child.pid, "child")
        assert owner.started is not None
        assert abs(owner.started.timestamp() - psutil.Process(child.pid).create_time()) < 1
        with pytest.raises(LockedError) as caught:
            ours.acquire("ours")
        assert f"pid {child.pid}, started {owner.started:%Y-%m-%d %H:%M:%S}" in caught.value.message
        assert "ralph status" in caught.value.hint
        assert not ours.held
        project.transact(count_up)  # owning the loop does not stop others from changing documents
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
        assert read_line(child) == "released"
        assert ours.owner() is None
        ours.acquire("ours")
    assert ours.owner() is not None
    ours.release()
    ours.release()
    assert ours.owner() is None


def test_a_killed_owner_is_succeeded(project: Project) -> None:
    ours = LoopLock(project.layout)
    with process(project.root, OWN) as child:
        assert read_line(child) == "owned"
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, but not collected yet
        assert ours.owner() is None
        ours.acquire("ours")
        owner = ours.owner()
        assert owner is not None
        assert owner.pid == os.getpid()
        ours.release()


def test_a_suspended_owner_stays_the_owner(project: Project) -> None:
    ours = LoopLock(project.layout)
    with process(project.root, OWN) as child:
        assert read_line(child) == "owned"
        os.kill(child.pid, signal.SIGSTOP)
        with pytest.raises(LockedError, match=f"pid {child.pid}"):
            ours.acquire("ours")
        os.kill(child.pid, signal.SIGCONT)
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
        assert read_line(child) == "released"


def test_a_process_owns_a_loop_once(project: Project) -> None:
    first, second = LoopLock(project.layout), LoopLock(project.layout)
    first.acquire("first")
    with pytest.raises(LockedError, match=f"pid {os.getpid()}"):
        second.acquire("second")
    first.release()
    second.acquire("second")
    second.release()


def left_behind(project: Project, **changes: object) -> Owner:
    owner = this_process("old").model_copy(update=changes)
    project.layout.lock.write_text(owner.model_dump_json())
    return owner


def test_a_pid_that_was_given_to_another_process_is_no_owner(project: Project) -> None:
    left_behind(project, start_token=f"{lock.boot_id()}:1")
    ours = LoopLock(project.layout)
    assert ours.owner() is None
    ours.acquire("new")
    ours.release()


def test_a_live_owner_is_respected_even_without_its_os_lock(project: Project) -> None:
    left_behind(project)
    with pytest.raises(LockedError, match="already running"):
        LoopLock(project.layout).acquire("new")


def test_nothing_is_taken_from_another_host(project: Project) -> None:
    left = left_behind(project, host="elsewhere", boot="another", pid=2**22 + 1)
    with pytest.raises(LockedError, match="another host \\(elsewhere") as caught:
        LoopLock(project.layout).acquire("new")
    assert str(project.layout.lock) in caught.value.hint
    assert LoopLock(project.layout).owner() == left


def test_a_renamed_host_is_recognised_by_its_boot(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "boot_id", lambda: "this boot")
    left_behind(project, host="old-name", boot="this boot", pid=2**22 + 1)
    LoopLock(project.layout).acquire("new")


def test_start_times_can_be_told_without_proc(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lock, "_PROC", tmp_path / "no-proc")
    ours = LoopLock(project.layout)
    with process(project.root, OWN) as child:
        assert read_line(child) == "owned"
        assert lock.start_token(child.pid) == f"{psutil.Process(child.pid).create_time():.2f}"
        assert lock.boot_id() == ""
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert lock.start_token(child.pid) == lock.ZOMBIE
    ours.acquire("ours")
    assert ours.owner() is not None
    ours.release()


@pytest.mark.parametrize("content", ["", "\0\0\0", "{", '{"pid": "x"}'])
def test_an_unreadable_record_is_no_owner(project: Project, content: str) -> None:
    project.layout.lock.write_text(content)
    ours = LoopLock(project.layout)
    assert ours.owner() is None
    ours.acquire("new")
    assert ours.owner() is not None
    ours.release()


@pytest.mark.parametrize("name", ["lock", "write_lock"])
def test_a_symlink_in_the_place_of_a_lock_is_refused(project: Project, name: str) -> None:
    victim = project.root / "victim"
    victim.write_text("keep")
    path: Path = getattr(project.layout, name)
    path.symlink_to(victim)
    with pytest.raises(StoreError):
        LoopLock(project.layout).acquire("new")
    assert victim.read_text() == "keep"


def test_an_owner_notices_that_its_lock_was_removed(project: Project) -> None:
    ours = LoopLock(project.layout)
    ours.acquire("ours")
    project.layout.lock.unlink()
    assert not ours.held
    other = LoopLock(project.layout)
    other.acquire("other")
    ours.release()
    owner = other.owner()
    assert owner is not None
    assert owner.run_id == "other"
    other.release()


def test_no_lock_makes_up_a_project(tmp_path: Path) -> None:
    project = Project(tmp_path)
    with pytest.raises(StoreError):
        LoopLock(project.layout).acquire("new")
    assert list(tmp_path.iterdir()) == []


def test_unknown_fields_of_an_owner_are_no_obstacle() -> None:
    owner = Owner.model_validate({"pid": 1, "host": "h", "since": NOW, "future": True})
    assert owner.run_id == ""


def test_what_the_agent_starts_may_look_at_its_project_and_not_change_it(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = project.transact(count_up)
    monkeypatch.setenv("RALPH_GUARD_ROOT", os.path.realpath(project.root))
    with pytest.raises(StoreError, match="may not change its state"):
        project.transact(count_up)
    with pytest.raises(StoreError, match="may not change its state"):
        LoopLock(project.layout).acquire("another loop")
    assert Project(project.root).load() == before
    (tmp_path / "other").mkdir()
    other = Project(tmp_path / "other")
    other.create()
    other.transact(count_up)  # one that it works with, as in a test


ONE_MORE = "from tests.store.helpers import count_up\nproject.transact(count_up)"

LEFT_BEHIND = """
import os
for _ in range(2):
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    os.setsid()
while os.getppid() == parent:
    time.sleep(0.01)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="elsewhere only marks tell")
@pytest.mark.parametrize("confined", [True, False])
def test_what_left_its_parents_may_be_the_agents_while_nothing_holds_its_commands(
    project: Project, confined: bool
) -> None:
    ours = LoopLock(project.layout)
    ours.acquire("ours", confined=confined)
    with process(project.root, LEFT_BEHIND + ONE_MORE) as child:
        child.communicate()  # the end of its output is the end of the one left behind
    assert project.load().state.iteration_count == int(confined)
    with process(project.root, ONE_MORE) as child:
        child.communicate()
    assert project.load().state.iteration_count == int(confined) + 1, "one with older parents"
    ours.release()

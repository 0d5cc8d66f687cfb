"""The memory of a prompt, made from what is on disk; the same for the model and for the person."""

from ralph_tui.domain.learnings import choose, words_of, words_of_task
from ralph_tui.domain.memory import ActiveMemory, MemorySources, active_memory, figures
from ralph_tui.domain.plan import Task
from ralph_tui.domain.state import Phase
from ralph_tui.store.project import Documents, Project

RECENT_ITERATIONS = 3
ALL_LEARNINGS = 100_000


def memory_for(project: Project, docs: Documents, task: Task | None) -> ActiveMemory:
    """The memory that a prompt about `task` has."""
    words = words_of_task(task) if task else words_of(docs.state.request)
    return active_memory(
        MemorySources(
            handoff=project.read_memory(),
            phase=_phase_before(project, docs.state.current_phase),
            iterations=project.recent_iteration_memories(limit=RECENT_ITERATIONS),
            state=figures(docs.plan, docs.state, task) if docs.plan.tasks else "",
            learnings=choose(project.read_learnings(ALL_LEARNINGS), words),
        )
    )


def learnings_for(project: Project, *texts: str) -> tuple[str, ...]:
    """The learnings for a prompt that is about these texts."""
    return choose(project.read_learnings(ALL_LEARNINGS), words_of(*texts)).told


def next_memory(project: Project, docs: Documents) -> ActiveMemory:
    """The memory of the next prompt, for a person to look at."""
    return memory_for(project, docs, docs.plan.get_current_task() or docs.plan.get_next_task())


def _phase_before(project: Project, phase: Phase) -> str:
    before = tuple(Phase)[: tuple(Phase).index(phase)]
    found = (project.read_phase_memory(one) for one in reversed(before))
    return next((text for text in found if text.strip()), "")

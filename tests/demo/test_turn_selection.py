"""Which turn comes next depends on the conversation and on nothing else."""

from pydantic import JsonValue

from ralph_tui.demo.scenario import Scenario, parse_scenario
from ralph_tui.demo.server import Choice, choose, read_steps

FIX = parse_scenario(
    """
scripts:
  - name: fix
    task: a
    turns:
      - bash: test
      - when: {last_result: FAILED}
        say: fix it
        bash: test
      - either:
          - when: {last_result: FAILED}
            say: give up
          - when: {last_result: OK}
            say: claim
      - say: done
  - name: hand over
    when: "^HAND-OFF:"
    turns:
      - say: summary
        ralph: update_memory
      - say: written
"""
)


def user(text: str) -> JsonValue:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def result(text: str) -> JsonValue:
    block: JsonValue = {"type": "tool_result", "content": [{"type": "text", "text": text}]}
    return {"role": "user", "content": [block]}


ANSWER: JsonValue = {"role": "assistant", "content": [{"type": "text", "text": "…"}]}


def chosen(scenario: Scenario, *messages: JsonValue) -> Choice | None:
    return choose(scenario, read_steps(messages))


def said(scenario: Scenario, *messages: JsonValue) -> str | None:
    choice = chosen(scenario, *messages)
    return choice.turn.say if choice else None


def test_a_failed_test_leads_to_a_fix() -> None:
    begin = (user("Building\nTask ID: a\nGo"), ANSWER)
    assert said(FIX, *begin, result("FAILED")) == "fix it"
    assert said(FIX, *begin, result("FAILED"), ANSWER, result("OK")) == "claim"
    assert said(FIX, *begin, result("FAILED"), ANSWER, result("FAILED")) == "give up"


def test_a_passed_test_skips_the_fix() -> None:
    begin = (user("Task ID: a"), ANSWER, result("OK"))
    assert said(FIX, *begin) == "claim"
    assert said(FIX, *begin, ANSWER, user("and?")) == "done"


def test_a_turn_that_fits_nothing_is_passed_over() -> None:
    assert said(FIX, user("Task ID: a"), ANSWER, result("Killed")) == "done"


def test_a_script_that_is_over_covers_nothing_more() -> None:
    messages = (user("Task ID: a"), ANSWER, result("OK"), ANSWER, user("so?"), ANSWER, user("hm"))
    assert chosen(FIX, *messages) is None
    assert chosen(FIX, user("Task ID: b")) is None


def test_a_later_prompt_begins_its_own_script_and_the_first_goes_on_after_it() -> None:
    messages = [user("Task ID: a"), ANSWER, user("HAND-OFF: now")]
    assert said(FIX, *messages) == "summary"
    messages += [ANSWER, result("ok")]
    assert said(FIX, *messages) == "written"
    messages += [ANSWER, user("go on, it was FAILED")]
    assert said(FIX, *messages) == "fix it"


def test_a_prompt_that_names_the_running_script_does_not_restart_it() -> None:
    assert said(FIX, user("Task ID: a"), ANSWER, user("FAILED\nTask ID: a")) == "fix it"


def test_the_latest_words_win_when_a_turn_was_never_answered() -> None:
    interrupted = (user("Task ID: a"), user("[Request interrupted by user]"), user("HAND-OFF: go"))
    assert said(FIX, *interrupted) == "summary"


def test_what_the_harness_adds_is_not_what_the_user_said() -> None:
    reminder = "<system-reminder>\nTask ID: a\n</system-reminder>\n"
    machine: JsonValue = {"role": "system", "content": "Task ID: a"}
    assert chosen(FIX, user(reminder), machine) is None
    [step] = read_steps([user(reminder + "Hello")])
    assert step.prompts == ("Hello",)


def test_guidance_given_while_a_tool_ran_is_heard() -> None:
    steered: JsonValue = {
        "role": "system",
        "content": "The user sent a new message: HAND-OFF: stop",
    }
    scenario = FIX.model_copy(
        update={"scripts": (FIX.scripts[0], FIX.scripts[1].model_copy(update={"when": ("HAND",)}))}
    )
    assert said(scenario, user("Task ID: a"), ANSWER, result("OK"), steered) == "summary"


def test_repeat_plays_a_turn_so_many_times() -> None:
    scenario = parse_scenario(
        "scripts: [{when: go, turns: [{say: again, repeat: 3}, {say: over}]}]"
    )
    messages: list[JsonValue] = [user("go")]
    heard = []
    for _ in range(4):
        heard.append(said(scenario, *messages))
        messages += [ANSWER, result("ok")]
    assert heard == ["again", "again", "again", "over"]


def test_several_patterns_must_all_be_found() -> None:
    scenario = parse_scenario(
        "scripts: [{when: [Task, memory], turns: [{say: two}]}, {when: Task, turns: [{say: one}]}]"
    )
    assert said(scenario, user("Task with memory")) == "two"
    assert said(scenario, user("Task")) == "one"


def test_the_task_is_the_one_the_prompt_names_first() -> None:
    scenario = parse_scenario(
        """
scripts:
  - {task: a, when: half way, turns: [{say: go on with a}]}
  - {task: a, turns: [{say: begin a}]}
  - {task: b, turns: [{say: begin b}]}
"""
    )
    memory = "## Memory\nTask ID: a\nhalf way\n"
    assert said(scenario, user("Task ID: a\n")) == "begin a"
    assert said(scenario, user("Task ID: a\n" + memory)) == "go on with a"
    assert said(scenario, user("Task ID: b\n" + memory)) == "begin b"
    assert said(scenario, user("Task ID: ab\n")) is None


def test_malformed_messages_are_harmless() -> None:
    odd: list[JsonValue] = [None, "text", {"role": "user"}, {"role": "user", "content": [1, {}]}]
    assert chosen(FIX, *odd) is None
    assert chosen(FIX) is None


def test_a_script_is_meant_for_a_phase() -> None:
    scenario = parse_scenario(
        """
scripts:
  - phase: planning
    turns: [{say: planned}]
  - phase: discovery
    when: again
    turns: [{say: asked again}]
  - phase: discovery
    turns: [{say: asked}]
"""
    )
    assert said(scenario, user("# Ralph Planning Mode\nplan again")) == "planned"
    assert said(scenario, user("# Ralph Discovery Mode\n")) == "asked"
    assert said(scenario, user("# Ralph Discovery Mode\nonce again")) == "asked again"
    quoted = "# Ralph Building Mode - Iteration 1\n\n# Ralph Planning Mode"
    assert said(scenario, user(quoted)) is None, "only the first line counts"

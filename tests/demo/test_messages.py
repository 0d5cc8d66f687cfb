"""A stream says exactly what the whole message says."""

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from ralph_tui.demo.messages import encode_event, message, stream_events, turn_usage
from ralph_tui.demo.scenario import Scenario, ToolUse, Turn, TurnScript, Usage

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
turns = st.builds(
    Turn,
    say=st.text(),
    think=st.text(),
    tools=st.lists(
        st.builds(ToolUse, name=st.just("T"), input=st.dictionaries(st.text(), json_values)),
        max_size=2,
    ).map(tuple),
)


@given(turns)
def test_the_pieces_of_a_stream_add_up(turn: Turn) -> None:
    usage = Usage(input=1, output=2)
    whole = message(turn, key="k", model="m", usage=usage)
    pieces: dict[int, str] = {}
    for event in stream_events(whole, usage):
        sent = json.loads(encode_event(event).decode().split("data: ", 1)[1])
        if sent["type"] == "content_block_delta" and sent["delta"]["type"] != "signature_delta":
            [piece] = [value for name, value in sent["delta"].items() if name != "type"]
            pieces[sent["index"]] = pieces.get(sent["index"], "") + piece
    content = whole["content"]
    assert isinstance(content, list)
    for index, block in enumerate(content):
        assert isinstance(block, dict)
        said: JsonValue = block.get("text", block.get("thinking"))
        if block["type"] == "tool_use":
            assert json.loads(pieces[index]) == block["input"]
        else:
            assert pieces[index] == said


@given(st.integers(0, 2_000_000), st.booleans())
def test_the_parts_of_the_context_add_up(context: int, first: bool) -> None:
    turn = Turn(context=context, output=7)
    scenario = Scenario(scripts=(TurnScript(task="a", turns=(turn,)),))
    usage = turn_usage(turn, scenario, body_bytes=10, first=first)
    assert usage.input + usage.cache_read + usage.cache_creation == context
    assert usage.output == 7

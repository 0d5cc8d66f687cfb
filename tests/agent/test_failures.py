import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.agent.failures import ResultFacts, classify
from ralph_tui.agent.translate import SessionUsage, token_usage
from ralph_tui.domain.outcomes import FailureClass


def facts(**changes: object) -> ResultFacts:
    return ResultFacts.model_validate({"subtype": "success", "is_error": True, **changes})


@pytest.mark.parametrize(
    ("given_facts", "kind"),
    [
        (
            facts(assistant_error="authentication_failed", api_status=401),
            FailureClass.AUTHENTICATION,
        ),
        (facts(assistant_error="billing_error", api_status=400), FailureClass.BILLING),
        (facts(assistant_error="rate_limit", api_status=429), FailureClass.USAGE_LIMIT),
        (facts(text="You've hit your 5-hour limit · resets 3pm"), FailureClass.USAGE_LIMIT),
        (facts(rejected_until=2_000_000_000), FailureClass.USAGE_LIMIT),
        (facts(assistant_error="model_not_found", api_status=404), FailureClass.BAD_REQUEST),
        (facts(terminal_reason="prompt_too_long"), FailureClass.CONTEXT_FULL),
        (facts(terminal_reason="blocking_limit"), FailureClass.CONTEXT_FULL),
        (facts(assistant_error="server_error", api_status=529), FailureClass.OVERLOADED),
        (facts(api_status=402, text="API Error: 402 Payment Required"), FailureClass.BILLING),
        (facts(api_status=407), FailureClass.NETWORK),
        (facts(api_status=511), FailureClass.NETWORK),
        (facts(api_status=200, text="… body is an HTML page, 48 bytes"), FailureClass.NETWORK),
        (facts(assistant_error="server_error"), FailureClass.NETWORK),
        (
            facts(assistant_error="invalid_request", stop_reason="refusal", text="API Error: …"),
            FailureClass.REFUSAL,
        ),
        (
            facts(assistant_error="unknown", text="API Error: JSON Parse error: Expected ':'"),
            FailureClass.NETWORK,
        ),
        (
            facts(
                assistant_error="authentication_failed",
                api_status=403,
                text="Failed to authenticate. API Error: 403 Forbidden",
            ),
            FailureClass.NETWORK,
        ),
        (
            facts(
                assistant_error="authentication_failed",
                api_status=403,
                text="Failed to authenticate. API Error: 403 Your account may not use this.",
            ),
            FailureClass.AUTHENTICATION,
        ),
        (
            facts(assistant_error="unknown", text="API Error: Usage credits ran out before …"),
            FailureClass.BILLING,
        ),
        (
            facts(text="API Error: The model has reached its context window limit."),
            FailureClass.CONTEXT_FULL,
        ),
        (
            facts(assistant_error="max_output_tokens", text="API Error: Claude's response …"),
            FailureClass.UNKNOWN,
        ),
        (facts(text="connection refused"), FailureClass.UNKNOWN),
        (facts(), FailureClass.UNKNOWN),
        (facts(subtype="error_max_turns", is_error=False), FailureClass.MAX_TURNS),
        (facts(subtype="error_max_budget_usd", is_error=False), FailureClass.BUDGET),
    ],
)
def test_each_result_has_its_class(given_facts: ResultFacts, kind: FailureClass) -> None:
    failure = classify(given_facts)
    assert failure is not None
    assert failure.kind is kind


def test_a_busy_service_is_told_in_one_sentence() -> None:
    text = "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again."
    failure = classify(facts(text=text, api_status=529))
    assert failure is not None
    assert failure.message == "The API is busy: 529 Overloaded."


def test_success_and_an_interrupt_are_no_failures() -> None:
    assert classify(facts(is_error=False)) is None
    assert classify(facts(terminal_reason="aborted_tools")) is None


def test_a_limit_says_when_it_resets() -> None:
    failure = classify(facts(rejected_until=2_000_000_000))
    assert failure is not None
    assert failure.resets_at is not None
    assert failure.resets_at.year == 2033


@pytest.mark.parametrize("until", [10**18, 2**63, -(10**18)])
def test_a_reset_outside_of_the_calendar_is_none(until: int) -> None:
    failure = classify(facts(rejected_until=until))
    assert failure is not None
    assert (failure.kind, failure.resets_at) == (FailureClass.USAGE_LIMIT, None)


@pytest.mark.parametrize("total", [None, float("nan"), float("inf"), -1.0])
def test_a_missing_or_strange_cost_never_counts_as_zero(total: float | None) -> None:
    spending = SessionUsage()
    spending.start_response("claude-sonnet-5-5", {"input_tokens": 100_000})
    spending.finish_response({"output_tokens": 1_000})
    before = spending.report().session_cost_usd
    spending.settle(total, {})
    assert spending.report().session_cost_usd == before > 0


def test_the_clis_figure_replaces_the_estimate() -> None:
    spending = SessionUsage()
    spending.start_response("claude-sonnet-5-5", {"input_tokens": 100_000})
    spending.finish_response({"output_tokens": 1_000})
    spending.settle(0.5, {"m": {"contextWindow": 1_000_000}})
    assert spending.report().session_cost_usd == 0.5
    assert spending.report().context_window == 1_000_000
    spending.settle(0.4, {})
    assert spending.report().session_cost_usd == 0.5, "a falling figure is not believed"


def test_a_figure_below_the_estimate_takes_nothing_back() -> None:
    spending, reported = SessionUsage(), []
    for total in (0.01, 0.35, 0.36):
        spending.start_response("claude-sonnet-5-5", {"input_tokens": 100_000})
        spending.finish_response({"output_tokens": 1_000})
        reported.append(spending.report().session_cost_usd)
        spending.settle(total, {})
        reported.append(spending.report().session_cost_usd)
    assert reported == sorted(reported)
    assert reported[:3] == [0.21, 0.21, 0.22]
    assert reported[3] == 0.35, "the CLI's figure holds again"


@given(st.dictionaries(st.text(), st.one_of(st.none(), st.text(), st.integers(), st.floats())))
def test_any_usage_object_is_read(usage: dict[str, object]) -> None:
    assert token_usage(usage).context >= 0


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "12", None, -5])
def test_strange_figures_are_zero(bad: object) -> None:
    assert token_usage({"input_tokens": bad}).input_tokens == 0

"""A document that a newer ralph wrote: shown as far as this one understands it, never written."""

from pydantic import ValidationError

from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.store.documents import Document, R
from ralph_tui.store.migrate import NewerError
from ralph_tui.store.strictjson import parse_object


def newer_view(kind: Document[R], data: bytes, error: NewerError) -> tuple[R, str]:
    """What is understood of it, and what to tell the person.

    Raises:
        NewerError: Nothing is, or it might be shown as something else than it is.
    """
    raw = parse_object(data)
    if kind.model is ImplementationPlan and not isinstance(raw.get("tasks"), list):
        raise error  # without tasks it would look like an empty plan
    try:
        value = kind.model.model_validate(raw)
    except ValidationError:
        raise error from None
    return value, f"{error.message} It is shown as far as this one understands it. {error.hint}"

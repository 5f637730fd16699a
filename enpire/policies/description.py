"""What a policy's file says of the policy's shape."""

from __future__ import annotations

from enpire.errors import PolicyError
from enpire.json_text import parsed


def described[D](kind: type[D], text: str, what: str) -> D:
    """Return the data class that a JSON object describes; its lists become tuples.

    what: the text should be a description of, for the message.

    Raises:
        PolicyError: it describes something else.
    """
    try:
        values = parsed(text)
        return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
    except (ValueError, TypeError, AttributeError) as error:
        raise PolicyError(f"not {what}'s description: {error}") from error

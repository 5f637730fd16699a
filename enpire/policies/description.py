"""What a policy's file says of the policy's shape."""

from __future__ import annotations

from enpire.errors import PolicyError
from enpire.json_text import frozen, parsed


def described[D](kind: type[D], text: str, what: str) -> D:
    """Return the data class that a JSON object describes; its lists become tuples.

    what: the text should be a description of, for the message.

    Raises:
        PolicyError: it describes something else.
    """
    try:
        return kind(**frozen(parsed(text)))
    except (ValueError, TypeError) as error:
        raise PolicyError(f"not {what}'s description: {error}") from error

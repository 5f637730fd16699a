"""What a policy's file says of the policy's shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_origin, get_type_hints

from enpire.errors import PolicyError
from enpire.json_text import frozen, parsed


def described[D](
    kind: type[D], text: str, what: str, needs: Sequence[str] = (), retired: Sequence[str] = ()
) -> D:
    """Return the data class that a JSON object describes; its lists become tuples.

    what: the text should be a description of, for the message. needs: fields that it has to say,
    though they have a default. retired: what only earlier versions said, which is left out.

    Raises:
        PolicyError: it describes something else.
    """
    try:
        values = frozen(parsed(text))
        made = kind(**{name: values[name] for name in values if name not in retired})
        for name, hint in get_type_hints(kind).items():
            several = get_origin(getattr(hint, "__value__", hint)) is tuple
            if several and not isinstance(getattr(made, name), tuple):
                raise TypeError(f"{name} is no list")
            if name in needs and name not in values:
                raise TypeError(f"{name} is missing")
    except (ValueError, TypeError) as error:
        raise PolicyError(f"not {what}'s description: {error}") from error
    return made

"""What a policy's file says of the policy's shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, Self, get_origin, get_type_hints

from enpire.errors import PolicyError
from enpire.json_text import frozen, parsed


@dataclass(frozen=True, slots=True)
class JsonSpec:
    """The shape of a policy, which stands as text in the metadata of a safetensors file."""

    what: ClassVar[str]  # the text is a description of, for messages

    def to_json(self) -> str:
        """Return it as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; raises PolicyError for anything else."""
        return described(cls, text, cls.what)


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

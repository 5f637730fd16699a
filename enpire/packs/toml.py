"""Reading a pack's TOML file into typed fields, with errors that name the file and the key."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from enpire.errors import PackError

T = TypeVar("T")
REACH = 10.0  # how far off anything of a bench may be [m]
UNIT = 1e-3  # by which the length of a quaternion may differ from 1
LARGEST = 2**63 - 1  # of whole numbers: TOML has no larger one


class Table:
    """A TOML table that remembers where it stands: the file, and the table in it."""

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self._values = values
        self.where = where

    @classmethod
    def read(cls, path: Path) -> Table:
        """Parse `path`; raises PackError with file and line."""
        if path.is_fifo():  # a pipe would be waited for
            raise PackError(f"{path} does not parse: it is no file")
        try:
            values = tomllib.loads(path.read_text("utf-8-sig"))
        except FileNotFoundError as error:
            raise PackError(f"{path} is missing") from error
        except (OSError, ValueError, RecursionError) as error:  # bad TOML, no UTF-8, too deep
            raise PackError(f"{path} does not parse: {error}") from error
        for key, value in _leaves(values):
            if isinstance(value, str) and "\0" in value:
                raise PackError(f"{path}: {key} has a character that no name has, NUL")
            if type(value) is int and abs(value) > LARGEST:
                raise PackError(f"{path}: {key} has {len(str(abs(value)))} digits: too large")
        return cls(values, str(path))

    @property
    def values(self) -> dict[str, Any]:
        """All of it, as it stands."""
        return dict(self._values)

    def over(self, other: Table) -> Table:
        """The same, and what of `other` it does not say itself, key by key in tables within too."""
        return Table(_merged(self._values, other._values), f"{self.where}, {other.where}")

    def without(self, key: str) -> Table:
        """The same, but for a key."""
        return Table({k: v for k, v in self._values.items() if k != key}, self.where)

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        return self._typed(key, str, default)

    def number(self, key: str, default: float | None = None) -> float:
        """A number, as float."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise PackError(f"{self.where}: {key} must be a number, found {value!r}")
        return self._finite(key, float(value))

    def numbers(self, key: str, count: int | None = None) -> tuple[float, ...]:
        """A list of numbers, of the given length if one is given."""
        value = self._values.get(key)
        good = isinstance(value, Sequence) and all(
            isinstance(v, int | float) and not isinstance(v, bool) for v in value
        )
        if not good or (count is not None and len(value or ()) != count):
            size = "" if count is None else f"{count} "
            raise PackError(f"{self.where}: {key} must be {size}numbers, found {value!r}")
        return tuple(self._finite(key, float(v)) for v in value or ())

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        value = self._typed(key, list, None)
        if not value or not all(isinstance(each, str) for each in value):
            raise PackError(f"{self.where}: {key} must be a list of strings, found {value!r}")
        return tuple(value)

    def flag(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        return self._typed(key, bool, default)

    def has(self, key: str) -> bool:
        """Whether there is such a key."""
        return key in self._values

    def raw(self, key: str) -> object:
        """What stands under a key, for a message."""
        return self._values.get(key)

    @property
    def names(self) -> tuple[str, ...]:
        """All keys."""
        return tuple(self._values)

    def table(self, key: str) -> Table:
        """A sub-table."""
        return Table(self._typed(key, dict, None), f"{self.where} [{key}]")

    def mapping(self, key: str) -> dict[str, Any]:
        """A sub-table as it stands, for somebody else's reader."""
        return dict(self._typed(key, dict, None))

    def tables(self, key: str) -> list[Table]:
        """An array of tables, at least one."""
        rows = self._typed(key, list, None)
        if not rows or not all(isinstance(row, dict) for row in rows):
            raise PackError(f"{self.where}: [[{key}]] needs at least one table, found {rows!r}")
        return [Table(row, f"{self.where} [[{key}]] {i + 1}") for i, row in enumerate(rows)]

    def leaf_texts(self) -> list[tuple[str, str]]:
        """Every string in it and in the tables within, with the key that it stands under."""
        return [(key, text) for key, text in _leaves(self._values) if isinstance(text, str)]

    def require_known(self, *names: str) -> None:
        """Raises PackError for a key that is none of these: one that is misspelt counts nowhere."""
        for name in self._values:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                hint = (
                    f"do you mean {near[0]}?" if near else f"there are {', '.join(names) or 'none'}"
                )
                raise PackError(f"{self.where}: {name} means nothing here; {hint}")

    def require_within(self, key: str, values: Sequence[float], most: float, unit: str) -> None:
        """Raises PackError for numbers beyond what can be meant: they are in another unit."""
        if not all(abs(value) <= most for value in values):
            raise PackError(
                f"{self.where}: {key} must be within {most:g} {unit}; "
                f"found {', '.join(f'{value:g}' for value in values)}"
            )

    def place(self, key: str) -> tuple[float, ...]:
        """Where something of a bench is: three numbers [m]."""
        values = self.numbers(key, 3)
        self.require_within(key, values, REACH, "m, no mm")
        return values

    def quaternion(self, key: str) -> tuple[float, ...]:
        """A turn: w x y z, of length one."""
        turn = self.numbers(key, 4)
        if abs(math.hypot(*turn) - 1.0) > UNIT:
            raise PackError(
                f"{self.where}: {key} (w x y z) has length {math.hypot(*turn):g}: 1 is needed"
            )
        return turn

    def natural(self, key: str, least: int = 0) -> int:
        """A whole number, at least so many."""
        value = self.number(key)
        if not value.is_integer() or value < least:
            raise PackError(
                f"{self.where}: {key} must be a whole number from {least} up, found {value:g}"
            )
        return int(value)

    def _finite(self, key: str, value: float) -> float:
        if not math.isfinite(value):
            raise PackError(f"{self.where}: {key} has {value}: a finite number is needed")
        return value

    def _typed(self, key: str, kind: type[T], default: T | None) -> T:
        value = self._values.get(key, default)
        if not isinstance(value, kind):
            found = "is missing" if value is None else f"is {value!r}"
            raise PackError(f"{self.where}: {key} {found}, expected {kind.__name__}")
        return value


def _leaves(node: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that holds no other, and the key that it stands under."""
    if not isinstance(node, dict | list):
        yield key, node
        return
    for name, value in node.items() if isinstance(node, dict) else ((key, each) for each in node):
        yield from _leaves(value, name)


def _merged(above: dict[str, Any], below: dict[str, Any]) -> dict[str, Any]:
    result = below | above
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            result[key] = _merged(value, below[key])
    return result

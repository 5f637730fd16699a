"""As much of EmPy 3 as the templates of ROS 2's message generators need: EmPy has no wheel.

`@(expression)`, `@name.of(something)`, `@{statements}`, `@[if]`, `@[elif]`, `@[else]`, `@[for]`,
`@[continue]`, `@[end ...]`, `@# comments`, `@@`, and `@` before white space, which it takes away.
"""

from __future__ import annotations

import contextlib
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

BUFFERED_OPT, RAW_OPT = "buffered", "raw"  # what the real one is told
NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass
class Node:
    """A piece of a template: what it is, its source, and what lies within it.

    kind: text, expression, statements, or the first word of a control; within an `if` lie branches.
    """

    kind: str
    source: str
    body: list[Node] = field(default_factory=list)


class Continue(Exception):
    """`@[continue]`."""


class Interpreter:
    """Expands templates into one output."""

    def __init__(self, output: io.StringIO, options: dict[str, bool]) -> None:
        self._output = output

    def string(self, template: str, path: object, locals: dict[str, Any]) -> None:
        """Expand a template, whose names are `locals`. path: of the template, for people."""
        body, _ = _nested(_pieces(template))
        with contextlib.redirect_stdout(self._output):  # what statements print is output, too
            self._expand(body, locals)

    def invoke(self, event: str, **what: object) -> None:
        """Hooks, of which there are none."""

    def shutdown(self) -> None:
        """Nothing is left open."""

    def _expand(self, body: list[Node], names: dict[str, Any]) -> None:
        for node in body:
            if node.kind == "text":
                self._output.write(node.source)
            elif node.kind == "expression":
                value = eval(node.source, names)
                self._output.write("" if value is None else str(value))
            elif node.kind == "statements":
                exec(node.source, names)
            elif node.kind == "continue":
                raise Continue
            elif node.kind == "for":
                self._repeat(node, names)
            elif node.kind == "if":
                for branch in node.body:
                    if eval(branch.source, names):
                        self._expand(branch.body, names)
                        break
            else:
                raise ValueError(f"@[{node.kind}] means nothing here")

    def _repeat(self, node: Node, names: dict[str, Any]) -> None:
        target, values = node.source.split(" in ", 1)
        for value in eval(values, names):
            exec(f"{target} = _value", names | {"_value": value}, names)
            try:
                self._expand(node.body, names)
            except Continue:
                continue


def _nested(pieces: Iterator[Node]) -> tuple[list[Node], Node]:
    """Nodes up to the control that ends them, and that."""
    body: list[Node] = []
    for node in pieces:
        if node.kind in ("elif", "else", "end"):
            return body, node
        if node.kind == "for":
            node.body, _ = _nested(pieces)
        elif node.kind == "if":
            last = node
            while last.kind != "end":
                condition = "True" if last.kind == "else" else last.source
                inner, last = _nested(pieces)
                node.body.append(Node("branch", condition, inner))
        body.append(node)
    return body, Node("end", "")


def _pieces(text: str) -> Iterator[Node]:
    at = 0
    while (mark := text.find("@", at)) >= 0:
        yield Node("text", text[at:mark])
        mark += 1
        sign = text[mark]
        if sign == "@":
            yield Node("text", "@")
            at = mark + 1
        elif sign.isspace():
            at = mark + 1
        elif sign == "#":
            at = text.index("\n", mark) + 1
        elif sign in "({[":
            at = _closed(text, mark)
            inner = text[mark + 1 : at - 1]
            if sign == "(":
                yield Node("expression", inner.strip())
            elif sign == "{":
                yield Node("statements", inner if "\n" in inner else inner.strip())
            else:
                kind, _, rest = inner.strip().partition(" ")
                yield Node(kind, rest.strip())
        else:
            at = _end_of_name(text, mark)
            yield Node("expression", text[mark:at])
    yield Node("text", text[at:])


def _end_of_name(text: str, at: int) -> int:
    """Where a name with its attributes, arguments and indices ends."""
    found = NAME.match(text, at)
    if found is None:
        raise ValueError(f"@{text[at]} means nothing here")
    at = found.end()
    while at < len(text):
        if text[at] in "([":
            at = _closed(text, at)
        elif text[at] == "." and (found := NAME.match(text, at + 1)):
            at = found.end()
        else:
            break
    return at


def _closed(text: str, at: int) -> int:
    """Where the bracket that opens there has closed, as Python reads it."""
    lines = io.StringIO(text[at:])
    depth = 0
    for token in tokenize.generate_tokens(lines.readline):
        if token.type == tokenize.OP:
            depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
            if not depth:
                row, column = token.end
                before = text[at:].split("\n")[: row - 1]
                return at + sum(len(line) + 1 for line in before) + column
    raise ValueError(f"a bracket is not closed: {text[at : at + 60]}")

"""The templates of the message generators expand as EmPy expands them."""

from __future__ import annotations

import io
import runpy
import tokenize
from pathlib import Path
from types import SimpleNamespace

import pytest

FILE = Path(__file__).parents[2] / "launch" / "ros2" / "control_msgs" / "em.py"


@pytest.fixture
def em() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(FILE)))


def expanded(em: SimpleNamespace, template: str, **names: object) -> str:
    output = io.StringIO()
    interpreter = em.Interpreter(output=output, options={em.BUFFERED_OPT: True, em.RAW_OPT: True})
    interpreter.string(template, "a template", locals=names)
    return output.getvalue()


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("a @(1 + 1) b", "a 2 b"),
        ("@(None)|@(')')|@({'a': [1]}['a'][0])", "|)|1"),
        ("f(@x.upper()[0]) @x", "f(H) hello"),
        ("@@x@@", "@x@"),
        ("a@\nb@# no } word ]\nc", "abc"),
        ("@{y = '}' # }\nz = {y: 1}}@\n@(z)", "{'}': 1}"),
        ("@{print('said')}", "said\n"),
        ("@[if x == 'a']A@[elif x]B@[else]C@[end if]", "B"),
        ("@[if not x]A@[else]@[if x]B@[end if]C@[end if]D", "BCD"),
        (
            "@[for i, c in enumerate(x[:3])]@[if i == 1]@[continue]@[end if]@(c)@(i)@[end for]",
            "h0l2",
        ),
        (
            "@[for i in range(2)]@[  for j in range(2)]@(i)@(j) @[  end for]@[end for]",
            "00 01 10 11 ",
        ),
    ],
)
def test_what_templates_are_made_of(em, template, expected) -> None:
    assert expanded(em, template, x="hello") == expected


def test_what_it_does_not_know_it_refuses(em) -> None:
    for template in ("@[while x]@[end while]", "@%", "@(1"):
        with pytest.raises((ValueError, tokenize.TokenError)):
            expanded(em, template)

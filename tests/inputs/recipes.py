"""Recipes, their files and their settings, that are slightly wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from enpire.improvement import recipe_finding as recipes
from enpire.improvement.collection import Collection
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.settings import defaults, described
from enpire.policies import ChunkPolicy, ChunkSpec
from tests.inputs.entry import REFUSED, TAKEN, Input
from tests.store.samples import episode

SPEC = ChunkSpec("t", observation=6, action=3, chunk=4, execute=2, hidden=(8,))
TEXT = """
from __future__ import annotations
import functools, os, sys
from dataclasses import dataclass, field, replace
from typing import Any, Callable
from enpire.improvement.recipe import Candidate
from enpire.policies import ChunkPolicy

def ctrl_c():
    raise KeyboardInterrupt
{decorator}
class Mine:
    {fields}
    def improve(self, given):
        {improve}
{end}
"""
NUMBERS = "return Candidate(ChunkPolicy(given.spec), {})"


def text(
    fields: str = "a: int = 1",
    improve: str = NUMBERS.format({}),
    decorator: str = "@dataclass(frozen=True)",
    end: str = "RECIPE = Mine",
) -> str:
    """A recipe's file with another part."""
    return TEXT.format(fields=fields, improve=improve, decorator=decorator, end=end)


def of_file(folder: Path, content: str | bytes) -> Path:
    """It on the disk."""
    path = folder / "mine.py"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def loaded(path: str, settings: Mapping[str, str]) -> str:
    """All settings of what is found, as they are."""
    (found,) = recipes.schedule(path, settings)
    assert described(found.recipe)
    return str(defaults(found.recipe))


def file(name: str, content: str | bytes, words: str, ends: str = REFUSED) -> Input:
    """An entry: a file."""
    return Input(name, lambda to: (TAKEN, loaded(str(of_file(to, content)), {})), words, ends)


def takes(name: str, method: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: a recipe's methods."""
    return file(f"takes {name}", text(end=END.format(method)), words, ends)


def placed(name: str, put: Callable[[Path], object], words: str, ending: str = ".py") -> Input:
    """An entry: something else in place of a file."""

    def give(folder: Path) -> tuple[str, str]:
        put(folder / "mine.py")
        return TAKEN, loaded(str(folder / f"mine{ending}"), {})

    return Input(f"in its place {name}", give, words)


def field(name: str, said: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: a field of the dataclass."""
    return file(name, text(fields=said), words, ends)


def improves(name: str, body: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: what it does, or returns."""

    def give(folder: Path) -> tuple[str, str]:
        (found,) = recipes.schedule(str(of_file(folder, text(improve=body))), {})
        given = RecipeInputs(SPEC, [episode("e", 6)], ChunkPolicy(SPEC), seed=1)
        return TAKEN, str(found.improve(given).numbers)

    return Input(name, give, words, ends)


def asks(name: str, method: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: what it says of a policy, and the jobs of a round of three."""

    def give(folder: Path) -> tuple[str, str]:
        content = text(end=END.format(method.replace("\n", "\n    ")))
        (found,) = recipes.schedule(str(of_file(folder, content)), {})
        found.require_policy(None)
        asked = Collection(
            *(None, "p", "", None, lambda _: None, 1, 3, iter(range(9)), 0.0, 1, ()),  # type: ignore[arg-type]
        )
        return TAKEN, str(len(list(found.collect(asked))))

    return Input(f"asked {name}", give, words, ends)


def named(name: str, called: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: what `--recipe` is given."""
    return Input(name, lambda _: (TAKEN, loaded(called, {})), words, ends)


def setting(name: str, key: str, value: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: a setting of `bc`."""
    return Input(name, lambda _: (TAKEN, loaded("bc", {key: value})), words, ends)


def numbers(name: str, said: str, words: str, ends: str = REFUSED) -> Input:
    """An entry: what a training showed."""
    return improves(name, NUMBERS.format(said), words, ends)


NAN = "float('nan')"
IMPROVE = "def improve(self, given): pass\n"
ASKED = IMPROVE + "def require_policy(self, policy): {}"
YIELDS = IMPROVE + "def require(self, stations): pass\ndef collect(self, asked): yield from {}"
END = "@dataclass\nclass Yours:\n    a: int = 1\n    {}\nRECIPE = Yours"
GETS = "def __getattr__(self, name): raise ValueError(name)"
SEES = GETS.replace("attr", "attribute")
JOBS = "def collect(self, asked): yield\n    "
PASS, NEEDS = "def improve(self, given): pass\n    ", "def require(self, stations): pass\n    "
WEIGHTS = """p = ChunkPolicy(given.spec)
        next(p.parameters()).data.fill_({})
        return Candidate(p, {{}})"""
OWN = """class Own(ChunkPolicy): pass
        return Candidate(Own(given.spec), {})"""
SHAPE = "return Candidate(ChunkPolicy(replace(given.spec, {})), {{}})"
SCALE = """p = ChunkPolicy(given.spec)
        p.{}.fill_({})
        return Candidate(p, {{}})"""
META = "return Candidate(ChunkPolicy(given.spec).to('meta'), {})"
OTHER = "return Candidate(ChunkPolicy(replace(given.spec, action=5)), {})"
ALL = (
    file("as it should be", text(), "'a': '1'", TAKEN),
    file("after a byte order mark", b"\xef\xbb\xbf" + text().encode(), "'a': '1'", TAKEN),
    file("CRLF", text().replace("\n", "\r\n"), "'a': '1'", TAKEN),
    file("exits", "import sys\nsys.exit(0)", r"mine.py:2: SystemExit: 0"),
    file("exits as a spent budget", "raise SystemExit(3)", r"mine.py:1: SystemExit: 3"),
    file("interrupts", "raise KeyboardInterrupt", "mine.py:1: KeyboardInterrupt"),
    file("closes", "raise GeneratorExit", "mine.py:1: GeneratorExit"),
    file("raises what is no exception", "raise BaseException('x')", "mine.py:1: BaseException: x"),
    file("raises what does not say", "raise type('E', (Exception,), {'__str__': 3})", "E: an"),
    file("raises what clears the screen", r"raise ValueError('\x1b[2J')", r"ValueError: \\x1b"),
    file("raises 100000 letters", "raise ValueError('x' * 10**5)", "x etc"),
    file("raises a surrogate", r"raise ValueError('\ud800')", r"\\ud800"),
    file("raises several", "raise ExceptionGroup('g', [ValueError()])", "ExceptionGroup: g"),
    file("does not parse", "x = ", r"mine.py:1: SyntaxError"),
    file("Python 2", "print 'a'", "SyntaxError"),
    file("tabs and spaces", "if 1:\n\tx = 1\n        y = 2", "TabError"),
    file("NUL", "x = 1\0", "null bytes"),
    file("UTF-16", text().encode("utf-16"), "null bytes"),
    file("Latin-1", "x = 'é'".encode("latin-1"), "can't decode byte"),
    file("too deep", "x = " + "(" * 300, "too many nested"),
    file("without end", "def f():\n    f()\nf()", "RecursionError"),
    file("imports what there is not", "import nosuchpackage", "ModuleNotFoundError"),
    file("imports beside it", "from . import other", "ImportError"),
    file("nothing in it", "", "no RECIPE"),
    file("a recipe in small letters", text(end="recipe = Mine"), "no RECIPE"),
    file("RECIPE = 3", "RECIPE = 3", "RECIPE = 3, and a dataclass"),
    file("RECIPE is text", "RECIPE = 'bc'", "RECIPE = 'bc'"),
    file("RECIPE is made", text(end="RECIPE = Mine()"), "RECIPE = Mine"),
    file("RECIPE is a function", "def RECIPE(): return 5", "is 5, and"),
    file("a dataclass that can change", text(decorator="@dataclass"), "'a': '1'", TAKEN),
    file("no dataclass", text(decorator=""), "a dataclass with improve"),
    file("improves nothing", text(end="del Mine.improve\nRECIPE = Mine"), "with improve"),
    asks("of a policy, with no", ASKED.format("return False"), "require_policy answers False, wh"),
    asks("of a policy, with nothing", ASKED.format("return None"), "3", TAKEN),
    asks("for jobs, with none", YIELDS.format("[]"), "0", TAKEN),
    asks("for jobs, with two", YIELDS.format("asked.plain(2)"), "2", TAKEN),
    asks("for jobs, with four", YIELDS.format("asked.plain(4)"), "4", TAKEN),
    improves(
        "actions of another length",
        "from enpire.improvement.data import examples\n"
        "        e = given.episodes[0]\n"
        "        examples([replace(e, actions=e.actions[:-1])], given.spec)",
        "episode e: 6 observations and 5 actions: a row of each per control period is due",
    ),
    takes("nothing", "def improve(self): pass", "improve is called with one argument: too many"),
    takes("two arguments", "def improve(self, given, more): pass", "missing .* 'more'"),
    takes("a keyword", "def improve(self, *, given): pass", "improve is called with one argument"),
    takes("more, by default", "def improve(self, given, more=1): pass", "'a': '1'", TAKEN),
    takes("later", "async def improve(self, given): pass", "no async, and no yield"),
    takes("a number", "improve = 3", "improve is 3: a method is due, def improve"),
    takes("nothing at all", "improve = None", "improve is None: a method is due"),
    takes("what is not there yet", "improve = property(lambda self: 1 / 0)", "is a property: a m"),
    takes("what is kept", "improve = functools.cached_property(len)", "improve is a property"),
    takes("a class", "improve = Candidate", "improve is <class .*: a method is due"),
    takes("a partial call", "improve = functools.partial(print)", "improve is functools.partial"),
    takes("a field", "improve: object = None", "improve is None: a method is due"),
    takes("a static method", "improve = staticmethod(lambda given: None)", "'a': '1'", TAKEN),
    takes("a method of its class", "improve = classmethod(lambda cls, given: None)", "'a'", TAKEN),
    takes("jobs by a property", f"{PASS}{NEEDS}collect = property(list)", "collect is a property"),
    takes("a need in words", f"{PASS}{JOBS}require = 'arms'", "require is 'arms': a method"),
    takes("a learner that is none", f"{PASS}learner = 3", "learner is 3: a method is due"),
    takes("a learner of nothing", f"{PASS}def learner(self): pass", "learner is called with one"),
    takes("a lag in words", f"{PASS}max_staleness = 'one'", "max_staleness is 'one': rounds from"),
    takes("a lag of NaN", f"{PASS}max_staleness = {NAN}", "max_staleness is nan: rounds from 0"),
    takes("a lag below nought", f"{PASS}max_staleness = -1", "max_staleness is -1: rounds"),
    takes("a helper in words", f"{PASS}needs_helper = 'no'", "needs_helper is 'no': True or"),
    takes("a beginning that is none", f"{PASS}begins_from = 'bc'", "begins_from is 'bc': flow or"),
    takes("jobs that anything runs", f"{PASS}def collect(self, asked): yield", "come together"),
    takes("a need of no jobs", f"{PASS}def require(self, stations): pass", "come together"),
    takes(
        "jobs of nothing", f"{PASS}{NEEDS}def collect(self): yield", "collect is called with one"
    ),
    takes("jobs later", f"{PASS}{NEEDS}async def collect(self, asked): pass", "no async"),
    takes("jobs", f"{PASS}{NEEDS}def collect(self, asked): yield", "'a': '1'", TAKEN),
    file("no RECIPE, and two classes", text(end="class Yours(Mine): pass"), "no RECIPE"),
    file("a RECIPE after another", text(end="RECIPE = 3\nRECIPE = Mine"), "'a': '1'", TAKEN),
    file("RECIPE in a list", text(end="RECIPE = [Mine]"), "RECIPE = .<class"),
    file("two byte order marks", b"\xef\xbb\xbf" * 2 + text().encode(), "mine.py:1: SyntaxError"),
    file("a byte order mark alone", b"\xef\xbb\xbf", "no RECIPE"),
    file("UTF-32", text().encode("utf-32"), "null bytes"),
    file("old Mac's ends of lines", text().replace("\n", "\r"), "'a': '1'", TAKEN),
    file(
        "an encoding that it names",
        f"# coding: latin-1\n# \xe9{text()}".encode("latin-1"),
        "'a'",
        TAKEN,
    ),
    file("an encoding that is none", f"# coding: foo{text()}", "unknown encoding: foo"),
    file("a notebook", '{"cells": []}', "no RECIPE"),
    file("asks a person", "input()", "mine.py:1: (EOF|OS)Error"),
    placed("a folder", Path.mkdir, "mine.py is a folder"),
    placed("a pipe", os.mkfifo, "mine.py is not there"),
    placed("a link to itself", lambda path: path.symlink_to(path), "mine.py is not there"),
    placed("a link to nothing", lambda path: path.symlink_to("no.py"), "no.py is not there"),
    placed(
        "a notebook's name",
        lambda path: path.with_suffix(".ipynb").write_text("{}"),
        "has to end in .py",
        ".ipynb",
    ),
    placed(
        "compiled",
        lambda path: path.with_suffix(".pyc").write_bytes(b"x"),
        "has to end in .py",
        ".pyc",
    ),
    placed(
        "capitals",
        lambda path: path.with_suffix(".PY").write_text(text()),
        "has to end in .py",
        ".PY",
    ),
    field("attributes that raise", f"a: int = 1\n    {GETS}", "cannot be looked at: ValueError"),
    field("attributes that none can see", f"a: int = 1\n    {SEES}", "cannot be looked at: Val"),
    field("a field without a default", "a: int", "does not come about: TypeError"),
    field("a default that raises", "a: int = field(default_factory=lambda: 1 / 0)", "ZeroDiv"),
    field("a default that interrupts", "a: int = field(default_factory=ctrl_c)", "Keyboard"),
    field("a default that exits", "a: int = field(default_factory=sys.exit)", "SystemExit"),
    field("a field of no type", "a: Nope = 1", "cannot be settings: NameError"),
    field("a field of anything", "a: Any = None", "'a': 'None'", TAKEN),
    field("a field that is a function", "a: Callable[[int], int] = abs", "abs", TAKEN),
    field("a field called help", "help: int = 1", "'help': '1'", TAKEN),
    field("a field with an accent", "größe: int = 1", "größe", TAKEN),
    improves("returns nothing", "return None", "returned a NoneType"),
    improves("returns bit by bit", "yield 1", "no async, and no yield"),
    improves("returns what is bit by bit", "return (x for x in ())", "returned a generator"),
    improves("no policy", "return Candidate(None, {})", "policy is None"),
    improves("a kind of policy", "return Candidate(ChunkPolicy, {})", "policy is <class"),
    improves("a policy of its own class", OWN, "Own.*cannot be kept"),
    improves("a module of torch", "return Candidate(os.path, {})", "cannot be kept: chunk"),
    improves("no action of a chunk", SHAPE.format("execute=0"), "executes 0 of the 4 actions"),
    improves("more actions than a chunk", SHAPE.format("execute=99"), "executes 99 of the 4"),
    improves("no history", SHAPE.format("history=0"), "history is 0: at least 1"),
    improves("a stride of nought", SHAPE.format("stride=0"), "stride is 0: at least 1"),
    improves("a level that is none", SHAPE.format(f"levels=((0, ({NAN},)),)"), "levels"),
    improves("a layer of no width", SHAPE.format("hidden=(0,)"), r"hidden is \(0,\): at least 1"),
    improves("longer chunks", SHAPE.format("chunk=16"), "{}", TAKEN),
    improves("a policy of another task", SHAPE.format("task='u'"), "is for u; the task is t"),
    improves("a spread of nought", SCALE.format("std", 0.0), "by nought: std must be above 0"),
    improves("an action that stays", SCALE.format("spread", 0.0), "{}", TAKEN),
    improves(
        "a spread below nought", SCALE.format("spread", -1.0), "spread of actions is below nought"
    ),
    improves("weights that are nowhere", META, "NotImplementedError"),
    improves("a policy in a tuple", "return ChunkPolicy(given.spec), {}", "returned a tuple"),
    improves("a policy of another size", OTHER, "to 5 actions"),
    improves("weights of NaN", WEIGHTS.format(NAN), "not finite"),
    improves("infinite weights", WEIGHTS.format("float('inf')"), "not finite"),
    improves("raises in it", "raise ValueError('x')", r"mine.py:\d+: ValueError: x"),
    improves("interrupts itself", "raise KeyboardInterrupt", r"mine.py:\d+: KeyboardInterrupt"),
    improves("closes itself", "raise GeneratorExit", r"mine.py:\d+: GeneratorExit"),
    improves("is at its end", "raise StopIteration", r"mine.py:\d+: StopIteration"),
    improves("exits in it", "sys.exit(0)", r"mine.py:\d+: SystemExit: 0"),
    numbers("numbers of nothing", "None", "no numbers"),
    numbers("numbers in a list", "[1]", "no numbers"),
    numbers("a number that is text", "{'loss': 'low'}", "no numbers"),
    numbers("a number in quotes", "{'loss': '1.0'}", "'loss' is '1.0'"),
    numbers("a number of NaN", f"{{'loss': {NAN}}}", "diverged"),
    numbers("a name that is a number", "{3: 1.0}", "by their names"),
    numbers("a whole number", "{'loss': 3}", "3.0", TAKEN),
    numbers("a number of no name", "{'': 1.0}", "by their names"),
    numbers("a number that clears the screen", r"{'\x1b[2J': 1.0}", r"'\\x1b.2J' is 1"),
    numbers(
        "a number of a tensor",
        "{'a': sum(p.sum() for p in ChunkPolicy(given.spec).parameters())}",
        "'a'",
        TAKEN,
    ),
    improves(
        "weights of half precision",
        "return Candidate(ChunkPolicy(given.spec).half(), {})",
        "{}",
        TAKEN,
    ),
    improves("what there was", "return Candidate(given.incumbent, {})", "{}", TAKEN),
    named("no name", "", "unknown recipe ''"),
    named("a comma", ",", "unknown recipe ''"),
    named("a space before it", " bc", "did you mean bc"),
    named("in capitals", "BC", "unknown recipe 'BC'"),
    named("the package itself", "__init__", "unknown recipe"),
    named("a folder above", "../bc", "is not there"),
    named("5000 letters", "a" * 5000 + ".py", "is not there"),
    named("a name with NUL", "a\0.py", "has no NUL"),
    setting("no such setting", "nothing", "1", "no such setting"),
    setting("a setting of no name", "", "1", "no such setting"),
    setting("a group of settings", "training", "1", "no such setting"),
    setting("an option in its place", "--lr", "1", "no such setting"),
    setting("no value", "training.steps", "", "invalid literal"),
    setting("a fraction of a step", "training.steps", "1.5", "invalid literal"),
    setting("steps below nought", "training.steps", "-5", "-5 is below nought"),
    setting("an underscore in steps", "training.steps", "1_000", "'1_000' is no number: write"),
    setting("steps of another script", "training.batch", "\u0662", "is no number: write its dig"),
    setting("an underscore in a rate", "training.lr", "1_0e-3", "is no number: write its digits"),
    setting("steps of 400 digits", "training.steps", "9" * 400, "at most"),
    setting("steps of 5000 digits", "training.steps", "9" * 5000, "Exceeds the limit"),
    setting("steps of 9e18", "training.steps", "9" * 18, "9: at most 1000000000 is taken"),
    setting("9e18 examples a step", "training.batch", "9" * 18, "at most 1000000 is taken"),
    setting("no example a step", "training.batch", "0", "0 examples a step: give at least 1"),
    setting(
        "a rate of 100",
        "training.lr",
        "100",
        "100 is no learning rate: give one above 0, and at most 1",
    ),
    setting("steps in one word", "training.steps", "True", "invalid literal"),
    setting("two values", "training.steps", "1 2", "invalid literal"),
    setting("a value of two lines", "training.steps", "1\n2", "invalid literal"),
    setting("an option as a value", "training.steps", "--help", "invalid literal"),
    setting("a rate of NaN", "training.lr", "nan", "no finite number"),
    setting("an endless rate", "training.lr", "1e999", "no finite number"),
    setting("a rate of nought", "training.lr", "0", "0 is no learning rate"),
    setting("a rate that is rounded to nought", "training.lr", "1e-400", "0 is no learning rate"),
    setting("steps that are true", "training.steps", "True", "base 10: 'True'$"),
    setting("a rate in per cent", "training.lr", "3%", "to float: '3%'$"),
    setting("a rate below nought", "training.lr", "-1", "-1 is no learning rate"),
    setting("a rate in words", "training.lr", "high", "could not convert"),
    setting("no choice", "policy", "", "chunk.*flow"),
    setting("another choice", "policy", "oracle", "invalid choice 'oracle'"),
    file("a byte of 0", b"a = 1\x00", "mine.py:1: SyntaxError.* null bytes"),
    improves("an improve that yields", "yield 1", "improve returns before it is done: no async"),
    setting("steps of 1e400", "steps", "1e400", "invalid literal for int"),
    setting("a lookalike of a name", "st\u0435ps", "5", "no such setting"),
    file("two recipes", text(end="RECIPE = [Mine, Mine]"), "is no recipe: it has RECIPE = "),
)

"""What a pack's `[environment]` may say, and that no file of a pack has a key in it.

A program's environment is seen in the machine's list of processes, and the pack itself by all who
have it. So a key stands in a variable of the harness's, which `key_from` names, and the proxy puts
it into what the program asks of its model. What a program wants to find in its place is
`PLACEHOLDER`.
"""

from __future__ import annotations

import re

from enpire.child_environment import is_secret
from enpire.errors import PackError
from enpire.packs.toml import Table

PLACEHOLDER = "is-put-in-outside"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # of an environment, by name
SHELLS = re.compile(r"\$\{?\w+\}?")  # a variable as a shell writes it
COUNTED, NUMBER = "TOKENS", re.compile(r"\d+")  # MAX_OUTPUT_TOKENS is a number, and no secret
OWN = "ENPIRE_"  # begins the names that the harness sets inside
LOADERS = re.compile(
    r"(LD|DYLD)_\w+|PYTHON(PATH|HOME|STARTUP|USERBASE)|NODE_(OPTIONS|PATH)|BASH_ENV|ENV"
    r"|PERL5(LIB|OPT)|RUBY(LIB|OPT)|JAVA_TOOL_OPTIONS|GCONV_PATH"
)
"""Variables that name what a program loads before anything of its own."""
PACK = "{pack}"  # begins what is in the pack
KEY = re.compile(
    r"\bsk-[\w-]{20,}|\bhf_\w{20,}|\bgh[opsu]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}|\bAIza[\w-]{30,}|\bxox[abprs]-[\w-]{10,}|\beyJ[\w-]+\.eyJ[\w-]+\."
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----|://[^\s/:@]+:[^\s/@]+@"
)
"""Keys by the shapes that their makers give them, and passwords in addresses."""


def read_environment(table: Table) -> dict[str, str]:
    """A pack's `[environment]`: variables of its program, by name.

    Raises:
        PackError: one has no name, holds a key, names code that is not the pack's, is the
            harness's own, or is written as a shell's. What may be secret is in no message.
    """
    if not table.has("environment"):
        return {}
    inner = table.table("environment")
    found = {name: inner.text(name) for name in inner.names}
    for name, value in found.items():
        if wrong := _wrong(name, value):
            raise PackError(f"{inner.where}: {wrong}")
    return found


def require_no_key(text: str, where: str) -> None:
    """Raise PackError for a text that has a key in it; its beginning is all that is told."""
    if found := KEY.search(text):
        raise PackError(
            f"{where} has what looks like a key or a password ({found[0][:4]} etc.), and all who "
            "have the pack have it. Put it into a variable, name that in key_from, and change it"
        )


def _wrong(name: str, value: str) -> str:
    """What is wrong with a variable; empty for nothing."""
    if not VARIABLE.fullmatch(name):
        return f"{name!r} is no name of a variable: letters, digits and _, no digit first"
    if name.startswith(OWN):
        return f"{name} is the harness's own, which sets it inside"
    counted = COUNTED in name.upper() and NUMBER.fullmatch(value)
    if is_secret(name) and value != PLACEHOLDER and not counted:
        return (
            f"{name} would be seen by the program, and in the list of processes. Write {name} = "
            f'"{PLACEHOLDER}", and key_from = "{name}" in its [[models]]'
        )
    if SHELLS.fullmatch(value):
        return f"{name} is {value!r}, and no shell puts anything in its place"
    own = all(part.startswith(PACK) and ".." not in part for part in value.split(":"))
    if LOADERS.fullmatch(name.upper()) and not own:
        return f"{name} loads code into the program from elsewhere: from {PACK} alone may it come"
    return ""

"""Every error that enpire raises on purpose, under one root.

The message of each says what is wrong, where, and what to do about it. The command line prints the
message alone and ends with `exit_code`; a traceback means a fault of ours.
"""


class EnpireError(Exception):
    """Root of all errors raised on purpose."""

    exit_code = 1


class UsageError(EnpireError):
    """The command line asks for something that is not there (unknown name, bad number)."""

    exit_code = 2


class PackError(EnpireError):
    """A pack does not parse, lacks a method, or does not compile."""


class PolicyError(EnpireError):
    """A policy does not fit its task, or returned something that is not an action."""


class PolicyFault(PolicyError):
    """A policy that is a program of its own died, hangs or answered nonsense: it has failed."""


class ServerFault(PolicyFault):
    """A policy's server answers nothing, or nonsense: its fault, which says nothing of a policy."""


class ResetFailed(EnpireError):
    """A station could not be put back into an initial condition."""


class EnvironmentFault(EnpireError):
    """An environment that is not ours raised, died or hangs."""


class StoreError(EnpireError):
    """A run folder cannot be written, read or continued."""


class LockedError(StoreError):
    """Another process writes to a run folder."""


class RecipeError(EnpireError):
    """A recipe diverged or lacks what it needs; the incumbent stays."""


class TrainerKilledError(RecipeError):
    """The process of a training was killed: another may go on from what it has kept."""


class CampaignError(EnpireError):
    """A campaign is asked for what its state does not allow, or its record cannot be read."""


class DriverError(EnpireError):
    """An arm's driver cannot reach it, or it answers what makes no sense."""


class SafetyError(EnpireError):
    """What is asked for is not allowed on this station, now: nothing moves."""


LONGEST_TEXT = 600  # characters that others wrote, in one message


def printable(text: str, most: int = LONGEST_TEXT) -> str:
    """A text of others for a message: without what a terminal or a file would choke on."""
    kept = text[:most] + (" etc" if len(text) > most else "")
    return "".join(
        c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in kept
    )


def error_text(error: BaseException) -> str:
    """What others' code raised, for a message: also of an error that cannot say what it is."""
    try:
        said = str(error)
    except Exception:
        said = "an error that does not say what it is"
    return printable(f"{type(error).__name__}: {said}")

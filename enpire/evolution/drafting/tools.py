"""What an agent can do while it drafts a pack: four tools."""

from __future__ import annotations

from collections.abc import Callable

from enpire.certification.examination import CHECKS
from enpire.errors import CampaignError
from enpire.evolution.agents.tools import EpisodePictures
from enpire.packs.finder import unknown

NAMES = ("task_brief", "check", "look", "done")


class DraftTools:
    """The tools of one session. What is wrong is an error that says what to do."""

    names = NAMES

    def __init__(
        self,
        brief: Callable[[], str],
        check: Callable[[list[str]], str],
        look: Callable[[list[str]], EpisodePictures],
        done: Callable[[], str],
    ) -> None:
        """What the session does for each; `check` and `look` take options of the command line."""
        self._brief, self._check, self._look, self._done = brief, check, look, done

    def task_brief(self) -> str:
        """What is asked for, where the pack is, and what is left of time and tokens."""
        return self._brief()

    def check(self, checks: str = "", seeds: int = 0) -> str:
        """Run `enpire task check` on the pack as it is now, and return its table.

        checks: only these, parted by commas, such as demonstrator,limits. seeds: so many episodes
        of each kind instead of the usual counts. Without either it is the check that must pass.
        """
        words: list[str] = []
        if checks:
            for name in checks.split(","):
                if name not in CHECKS:
                    raise CampaignError(unknown("check", name, list(CHECKS)))
            words += ["--checks", checks]
        if seeds:
            words += ["--seeds", str(min(max(seeds, 1), 200))]
        return self._check(words)

    def look(
        self,
        at: float = 1.5,
        seed: int = 0,
        camera: str = "",
        distance: float = 0.7,
        azimuth: float = 162.0,
        elevation: float = -20.0,
    ) -> EpisodePictures:
        """A picture of the scene at `at` seconds into a demonstration; -1: before the reset.

        A large `at` shows its end. camera: one of the world's; else around what is tracked, from
        `distance` [m], `azimuth` and `elevation` [deg].
        """
        view = {"distance": max(distance, 0.05), "azimuth": azimuth, "elevation": elevation}
        words = [
            f"--at={float(at):g}",
            f"--seed={max(int(seed), 0)}",
            "--width=800",
            "--height=500",
        ]
        words += [f"--camera={camera[:64]}"] if camera else []
        words += [f"--{name}={float(value):g}" for name, value in view.items()]
        return self._look(words)

    def done(self) -> str:
        """Say that the pack is finished: its last whole check has passed, and it is as it was."""
        return self._done()

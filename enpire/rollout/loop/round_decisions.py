"""What the rounds of a run have decided, by notes in its ledger, and what follows from it.

A loop that was killed reads the same here as one that was not, and so comes to the same decisions.
"""

from __future__ import annotations

from itertools import islice

from enpire.rollout.evaluation.comparison import EXTENSION
from enpire.rollout.evaluation.pairs import enough_pairs, expected_pairs
from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.evaluation.statistics import estimate, together
from enpire.rollout.loop.episode_cache import EpisodeCache
from enpire.rollout.loop.settings import LoopSettings
from enpire.store import EpisodeWriter, LogEntry
from enpire.store.ledger import Ledger
from enpire.types import Estimate

POLICY = "policy"
ENOUGH = 60  # judged episodes of a policy before a sealed evaluation is worth its robot time
LIMIT = "limit"  # the kind of note that says how many pairs a comparison may take
HINT, WEAK = "hint", 0.5  # kind of a note, and success of a first policy that may need one
DECIDED = ("promoted", "kept", "rejected")  # kinds of notes that close a comparison


class RoundDecisions:
    """The decisions of one run's rounds."""

    def __init__(
        self, ledger: Ledger, writer: EpisodeWriter, known: EpisodeCache, settings: LoopSettings
    ) -> None:
        """writer: of the run's episodes; known: they."""
        self._ledger, self._writer, self._known, self._settings = ledger, writer, known, settings

    def note(
        self,
        number: int,
        kind: str,
        text: str,
        incumbent: str,
        candidate: str,
        numbers: dict[str, float] | None = None,
    ) -> None:
        """Add a note on round `number`."""
        self._writer.flush()  # what was decided never outlives the episodes that decided it
        self._ledger.add_decision(LogEntry(number, kind, text, incumbent, candidate, numbers or {}))

    def hint(self, name: str, measured: Estimate) -> None:
        """Note once what helps a weak first policy whose demonstrator never left its course."""
        settings = self._settings
        sure = not settings.environment.demonstrator or settings.first.demonstrator_pushes
        if sure or measured.rate >= WEAK or any(n.kind == HINT for n in self.of_round(0)):
            return
        text = (
            f"{name} has {measured}. A script shows no way back from where a policy errs: a new "
            "run with --demonstrator-pushes 0.2 pushes it off its course now and then"
        )
        self.note(0, HINT, text, "", name)

    def of_round(self, number: int) -> list[LogEntry]:
        """The notes on a round, in their order."""
        return [note for note in self._ledger.decisions() if note.round == number]

    def promoted(self, number: int) -> bool | None:
        """Whether a round's candidate became the incumbent; None while that is open."""
        for note in self.of_round(number):
            if note.kind in DECIDED:
                return note.kind == "promoted"
        return None

    def base(self, number: int) -> str:
        """What a round's candidate is made from: the last one, unless it did worse.

        Near the target an improvement is too small to be shown by one comparison. It is not thrown
        away for that: the next candidate goes on from it, until there is enough to show.
        """
        notes = self._ledger.decisions()
        decided = [note for note in notes if note.kind in DECIDED and note.round < number]
        last = decided[-1] if decided else None
        if last and last.kind == "kept" and last.numbers["wins"] >= last.numbers["losses"]:
            return last.candidate
        earlier = [row for row in self._ledger.rounds() if row.number < number]
        return earlier[-1].policy if earlier else f"{POLICY}-0"

    def measured(self, name: str, until: int) -> Estimate:
        """Return a policy's success over its evaluations up to a round, for what is decided by it.

        What it did on sealed seeds counts as well, once that is decided: a policy is examined for
        being lucky before, and has missed since. Episodes that were under way when a comparison
        ended are left out. How many there are is a matter of time, and a loop that was killed must
        come to the same decisions.
        """
        settled = {
            note.round: self._settled(note.round, int(note.numbers["drawn"]))
            for note in self._ledger.decisions()
            if note.kind in DECIDED and "drawn" in note.numbers
        }
        judged = [
            e.success
            for e in self._known.evaluations(name)
            if e.round <= until and (e.round not in settled or e.seed in settled[e.round])
        ]
        return together(estimate(sum(judged), len(judged)), self.sealed(name))

    def sealed(self, name: str) -> Estimate:
        """Return a policy's success on sealed seeds, as far as that is decided."""
        rows = [row for row in self._ledger.sealed() if row.policy == name]
        return estimate(sum(row.successes for row in rows), sum(row.trials for row in rows))

    def compared(self, before: int) -> int:
        """Return how many pairs the comparisons of earlier rounds took."""
        return sum(
            int(note.numbers[count])
            for note in self._ledger.decisions()
            if note.kind in DECIDED and note.round < before and "wins" in note.numbers
            for count in ("wins", "losses", "ties")
        )

    def max_pairs(self, number: int, incumbent: str, candidate: str) -> int:
        """Pairs of a round's comparison: as it was asked for, or as the incumbent's success says.

        What is known of the incumbent from earlier rounds decides, and is noted, so that a
        comparison that is continued has the same limit.
        """
        settings = self._settings
        if settings.evaluation.max_pairs:
            return settings.evaluation.max_pairs
        for note in self.of_round(number):
            if note.kind == LIMIT and note.candidate == candidate:
                return int(note.numbers["max_pairs"])
        measured = self.measured(incumbent, number - 1)
        most = enough_pairs(measured, settings.evaluation.target, settings.evaluation.alpha)
        text = (
            f"{incumbent} succeeds at {measured}: at most {most} pairs, {EXTENSION} times as many "
            f"if {candidate} is promising"
        )
        self.note(number, LIMIT, text, incumbent, candidate, {"max_pairs": most})
        return most

    def expected_pairs(self, number: int, incumbent: str, candidate: str) -> int:
        """Return how many pairs a round's comparison takes, on average, by what is known before."""
        goal = self._settings.evaluation
        most = self.max_pairs(number, incumbent, candidate)
        measured = self.measured(incumbent, number - 1)
        return round(expected_pairs(measured, goal.target, most, goal.alpha))

    def _settled(self, number: int, drawn: int) -> set[int]:
        """Seeds of a round's evaluations that are there however often the loop was killed."""
        compared = islice(stream(self._settings.seed, "compare", number), drawn)
        return {*compared, *islice(stream(self._settings.seed, "check", number), ENOUGH)}

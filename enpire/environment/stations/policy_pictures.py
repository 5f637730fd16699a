"""Pictures that a policy waits for."""

from __future__ import annotations

from enpire.environment.control.step_scheduler import StepScheduler
from enpire.environment.core.controller import needs_pictures, show
from enpire.environment.core.policy_cameras import EVERY, FrameCapture
from enpire.environment.stations.episode_state import EpisodeState


def waits_for_picture(
    row: int, state: EpisodeState, frame_capture: FrameCapture, scheduler: StepScheduler
) -> bool:
    """Whether a station waits for its picture; shows it to who acts, once it has come.

    A picture belongs to the period: its clock stands still until it is there.
    """
    last = state.pictured[-1] if state.pictured else -EVERY
    if len(state.plan):
        return False
    new = len(state.actions) - last < EVERY
    if new and not needs_pictures(state.job.controller, row):
        return False
    if state.capture is None:
        state.capture = frame_capture.capture(row)
        if not state.capture.done():
            scheduler.postpone(row)
            state.capture.add_done_callback(lambda _: scheduler.release(row))
            return True
    picture, state.capture = state.capture.result(), None
    state.pictures.append(picture)
    state.pictured.append(len(state.actions))
    show(state.job.controller, row, picture)
    return False

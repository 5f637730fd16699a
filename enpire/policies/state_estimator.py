"""A network that says what a tracker would say, from pictures and what the arm feels of itself.

Encoders find features in pictures, and a perceptron works out from where they are what a tracker
would add to the observation. Beside it is a linear map, for where things are is nearly linear in
where pictures show them.

Entries are learned as well as each can be told: an error counts in standard deviations of its
entry's errors, which are learned too (Kendall and Gal 2017, arXiv 1703.04977), times one such
deviation (Seitzer et al. 2022, arXiv 2203.09168, with their beta of one half). With plain squares a
heading that hardly shows would drown millimetres that show well, and with the likelihood alone it
would never be learned.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from enpire.errors import PolicyError
from enpire.policies.network import NormalisedModule, perceptron
from enpire.policies.picture import Encoder, found_in
from enpire.policies.spec import PictureSpec

HIDDEN = (128, 128)  # widths of the hidden layers between features and entries


class StateEstimator(NormalisedModule):
    """Pictures and what is felt to whole observations.

    `mean` and `std` are those of the task's observation. `told`: the entries that a tracker has a
    part in, which are estimated. `log_deviation`: of the errors of each, in units of `std`.
    """

    def __init__(self, spec: PictureSpec) -> None:
        super().__init__()
        self.spec = spec
        self.told = [i for i in range(spec.observation) if i not in spec.felt]
        self.encoders = nn.ModuleList(Encoder(spec.channels) for _ in spec.cameras)
        seen = spec.features + len(spec.felt)
        self.linear = nn.Linear(seen, len(self.told))
        self.net = perceptron(seen, HIDDEN, len(self.told))
        self.log_deviation = nn.Parameter(torch.zeros(len(self.told)))
        self.keep_observation_scales(spec.observation)

    def forward(self, rows: Tensor, pictures: Tensor) -> Tensor:
        """Return the estimated entries in units of `std` from their `mean`, (batch, told).

        rows: observations (batch, obs), of which only what is felt is looked at. pictures: (batch,
        cameras, size, size, 3) of uint8.
        """
        felt = self.normalised(rows)[:, list(self.spec.felt)]
        seen = torch.cat([found_in(pictures, self.encoders), felt], dim=1)
        estimated: Tensor = self.linear(seen) + self.net(seen)
        return estimated

    def estimate(self, rows: Tensor, pictures: Tensor) -> Tensor:
        """Return observations (batch, obs) with the estimates in the place of what a tracker says.

        rows, pictures: see `forward`.
        """
        told, whole = self.told, rows.clone()
        whole[:, told] = self.mean[told] + self.std[told] * self(rows, pictures)
        return whole

    def cloning_error(
        self,
        history: Tensor,
        actions: Tensor,
        generator: torch.Generator,
        pictures: Tensor | None = None,
    ) -> Tensor:
        """The error of the estimates, (batch, 1, told): see above.

        history: observations (batch, history, obs), the newest of which counts. actions: what the
        tracker said there, in the observation's units, (batch, 1, told).
        """
        if pictures is None:
            raise PolicyError("what a tracker says is learned from episodes with pictures only")
        told = self.told
        rows = history[:, -1]
        wrong = self(rows, pictures) - (actions[:, 0] - self.mean[told]) / self.std[told]
        deviation = self.log_deviation.exp()
        huber = functional.smooth_l1_loss(
            wrong / deviation, torch.zeros_like(wrong), reduction="none"
        )
        return ((huber + self.log_deviation) * deviation.detach())[:, None]

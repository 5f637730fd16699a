"""A small policy that sees by cameras: chunks that flow from noise, given what pictures show.

Each camera has a light convolutional encoder that ends in a spatial softmax (Levine et al. 2016,
arXiv 1504.00702): every channel says where in the picture it finds its feature, which is what a
hand needs to know of a scene, in a few numbers that little data can teach. With what the arm feels
of itself they are the condition of a `FlowPolicy`. Nothing here is told by a tracker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enpire.environment import StationBackend
from enpire.errors import PolicyError
from enpire.policies.chunk_sampler import ChunkSampler
from enpire.policies.flow import FlowInference, FlowPolicy, initial_noise
from enpire.policies.network import NormalisedModule, normalised, with_weights
from enpire.policies.policy_runner import PolicyState
from enpire.policies.spec import PictureSpec
from enpire.policies.vision import NOTHING, ObservationMask, SeeingController, seen_there
from enpire.types import Float32Array, Image

DRAWS = 8  # of noise and time for one look: looking costs far more than a step of the flow


class Encoder(nn.Module):
    """One camera's pictures to where in them features are, (batch, 2 features)."""

    def __init__(self, channels: tuple[int, ...]) -> None:
        """channels: of each layer; the first halves the picture, and so does the last."""
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for number, width in enumerate(channels):
            stride = 2 if number in (0, len(channels) - 1) else 1
            kernel = 5 if number == 0 else 3
            layers += [nn.Conv2d(before, width, kernel, stride, kernel // 2), nn.SiLU()]
            before = width
        self.net = nn.Sequential(*layers, nn.Conv2d(before, before, 1))
        self.sharpness = nn.Parameter(torch.ones(before))

    def forward(self, pictures: Tensor) -> Tensor:
        """Map (batch, 3, height, width) in [-1, 1] to x and y of each feature, in [-1, 1]."""
        maps = self.net(pictures)
        *_, height, width = maps.shape
        share = torch.softmax((maps * self.sharpness[:, None, None]).flatten(2), dim=2)
        share = share.view(maps.shape)
        with torch.autocast(maps.device.type, enabled=False):  # bfloat16 tells 1 in 256 apart
            x = share.sum(dim=2) @ torch.linspace(-1, 1, width, device=maps.device)
            y = share.sum(dim=3) @ torch.linspace(-1, 1, height, device=maps.device)
        return torch.cat([x, y], dim=1)


class PicturePolicy(NormalisedModule):
    """Encoders of the cameras' pictures, and a flow of chunks given what they say.

    `mean` and `std` are those of the task's observation, of which only the felt entries are seen.
    """

    kind: ClassVar[str] = "picture"

    def __init__(self, spec: PictureSpec) -> None:
        super().__init__()
        self.spec = spec
        self.encoders = nn.ModuleList(Encoder(spec.channels) for _ in spec.cameras)
        self.flow = FlowPolicy(spec.flow)
        self.keep_observation_scales(spec.observation)

    @property
    def centre(self) -> Tensor:
        """The mean of each action over the data, (act,)."""
        return self.flow.centre

    @property
    def spread(self) -> Tensor:
        """The unit of exploration, (act,)."""
        return self.flow.spread

    def see(self, history: Tensor, pictures: Tensor) -> Tensor:
        """What the flow is given, (batch, seen).

        history: observations (batch, history, obs); pictures: (batch, cameras, size, size, 3) of
        uint8.
        """
        felt = list(self.spec.felt)
        seen = self.normalised(history)[..., felt]
        return torch.cat([seen.flatten(1), found_in(pictures, self.encoders)], dim=1)

    def cloning_error(
        self,
        history: Tensor,
        actions: Tensor,
        generator: torch.Generator,
        pictures: Tensor | None = None,
    ) -> Tensor:
        """The error as of a `FlowPolicy`, seeing `pictures` (batch, cameras, size, size, 3)."""
        if pictures is None:
            raise PolicyError("a policy that sees learns from episodes with pictures only")
        seen = self.see(history, pictures).repeat_interleave(DRAWS, dim=0)
        again = actions.repeat_interleave(DRAWS, dim=0)
        error = self.flow.cloning_error(seen[:, None], again, generator)
        return error.view(-1, DRAWS, *error.shape[1:]).mean(dim=1)

    def inference(self) -> PictureInference:
        """Return what acts, with the weights as they are now."""
        return PictureInference(self.spec, self.tensors())

    def controller(self, stations: StationBackend) -> PictureController:
        """See `Policy.controller`."""
        seen = seen_there(stations, self.spec.cameras, self.spec.size)
        return PictureController(self, seen)

    def sampler(self, instruction: str, mask: ObservationMask = NOTHING) -> ChunkSampler:
        """See `Base`; noise is drawn by the seeds."""
        infer, size = self.inference(), self.flow.noise_size

        def chunks(
            history: Float32Array,
            seeds: Sequence[int],
            noise: Float32Array | None = None,
            pictures: Image | None = None,
        ) -> Float32Array:
            return infer(history, initial_noise(size, seeds, noise), _newest(pictures))

        def together(
            history: Float32Array,
            seeds: Sequence[int],
            noise: Float32Array | None = None,
            pictures: Image | None = None,
        ) -> Float32Array:
            with torch.inference_mode():
                newest = torch.from_numpy(_newest(pictures))
                looked = self.see(torch.from_numpy(history), newest)[:, None]
                drawn = torch.from_numpy(initial_noise(size, seeds, noise))
                said: Float32Array = self.flow(looked, drawn).numpy()
                return said

        shape = self.spec.chunk, self.spec.action
        return ChunkSampler(self.spec, self.spread.clone(), chunks, together, shape, mask, 1)

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        return with_weights(cls(PictureSpec.from_json(spec)), tensors)


class PictureInference:
    """A picture policy's forward pass, row by row: a convolution of many rounds otherwise."""

    def __init__(self, spec: PictureSpec, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take the weights from a policy's `tensors`."""
        own = with_weights(PicturePolicy(spec), tensors)
        self._encoders, self._felt = own.encoders, list(spec.felt)
        self._mean, self._std = (np.tile(tensors[n], spec.history) for n in ("mean", "std"))
        self._flow = FlowInference(spec.flow, own.flow.tensors())

    def __call__(
        self, history: Float32Array, drawn: Float32Array, pictures: Sequence[Image] | Image
    ) -> Float32Array:
        """Actions (batch, chunk, act) for observations (batch, history, obs) and drawn noise."""
        shape = history.shape
        felt = normalised(history, self._mean, self._std).reshape(shape)[..., self._felt]
        found = np.stack([self._features(each) for each in pictures])
        seen = np.concatenate([felt.reshape(len(felt), -1), found], axis=1)
        return self._flow(seen[:, None], drawn)

    def _features(self, pictures: Image) -> Float32Array:
        """What the encoders say of one station's pictures, (features,)."""
        with torch.inference_mode():
            found = found_in(torch.from_numpy(pictures[None]), self._encoders)
            features: Float32Array = found[0].numpy()
        return features


class PictureController(SeeingController):
    """Draws the noise of each chunk from its episode's own generator."""

    def __init__(self, policy: PicturePolicy, mask: ObservationMask) -> None:
        """Drive `policy`, with its weights as they are now, on any number of stations."""
        super().__init__(policy, mask)
        self._size = policy.flow.noise_size

    def chunks(self, seen: Float32Array, states: Sequence[PolicyState]) -> Float32Array:
        """See `PolicyController`."""
        drawn = np.array([one.rng.standard_normal(self._size, np.float32) for one in states])
        return self._infer(seen, drawn, _newest(self.shown(states)))


def _newest(pictures: Image | None) -> Image:
    """The newest of pictures (batch, looks, cameras, size, size, 3)."""
    if pictures is None:
        raise PolicyError("a policy that sees was asked without pictures")
    return pictures[:, -1]


def found_in(pictures: Tensor, encoders: Iterable[nn.Module]) -> Tensor:
    """What each camera's encoder says of pictures (batch, cameras, size, size, 3), (batch, all)."""
    said = [encode(encoder_input(pictures[:, i])) for i, encode in enumerate(encoders)]
    return torch.cat(said, dim=1)


def encoder_input(pictures: Tensor) -> Tensor:
    """One camera's pictures (batch, size, size, 3) of uint8 as an encoder is shown them.

    A pixel's channels stay side by side in memory, with which convolutions are quicker.
    """
    planes = pictures.permute(0, 3, 1, 2)
    return planes.to(torch.float32, memory_format=torch.channels_last).div_(127.5).sub_(1.0)

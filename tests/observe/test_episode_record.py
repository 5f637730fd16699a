"""Everything that is known of an episode, read back by the libraries of those whose files it is."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from enpire.observe.episode_record import EpisodeRecord, read_record
from enpire.observe.mcap_log import write_mcap
from enpire.observe.picture import Viewpoint
from enpire.observe.rerun_log import write_rerun
from enpire.store import Run
from enpire.types import Frame, Outcome, Predicate, Purpose, Verdict
from tests.store.samples import episode

LENGTH, CHUNK = 10, 4
GAP = Predicate("gap", 0.003, 0.002, "m", at_least=False)
LOST = Predicate("seated", float("nan"), 0.5, "m")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> EpisodeRecord:
    """An episode with one of everything, whose task nobody has: it cannot be carried out again."""
    rng = np.random.default_rng(7)
    joints = rng.standard_normal((LENGTH, 2)).astype(np.float32)
    front = Frame("front", rng.integers(0, 255, (6, 8, 3)).astype(np.uint8))
    one = episode(
        "e1",
        LENGTH,
        policy="policy-1",
        purpose=Purpose.EVALUATION,
        verdict=Verdict(Outcome.FAILURE, (GAP, LOST), 0.5, "probe", "not seated", (front,)),
        joints=joints,
        setpoints=joints + np.float32(0.25),
        pictures=rng.integers(0, 255, (2, 1, 16, 16, 3)).astype(np.uint8),
        pictured=np.array([0, 4]),
    )
    folder = tmp_path_factory.mktemp("runs") / "run"
    with Run.create(folder, {"loop": {"task": "no_such_task", "execute": CHUNK}}) as run:
        run.save_policy("policy-1", {"w": np.zeros(1)}, {"kind": "chunk"}, recipe="bc", round=1)
        run.add_episodes([one])
        return read_record(run, run.episodes()[0], Viewpoint())


def test_a_record_says_why_there_is_no_scene(record: EpisodeRecord) -> None:
    assert "no_such_task" in record.without
    assert {picture.camera for picture in record.pictures} == {"policy_camera/0"}
    assert record.policy["recipe"] == "bc"
    assert [chunk.stamp for chunk in record.chunks] == [0.0, 0.08, 0.16]
    np.testing.assert_array_equal(
        np.concatenate([chunk.actions for chunk in record.chunks]), record.episode.actions
    )


def test_rerun_reads_back_what_is_written(record: EpisodeRecord, tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    from rerun.chunk import RrdReader

    path = tmp_path / "deep" / "out.rrd"
    write_rerun(record, path)
    read: dict[str, list[dict[str, Any]]] = {}
    for chunk in RrdReader(path).stream().to_chunks():
        rows = chunk.to_record_batch().to_pylist()
        read.setdefault(chunk.entity_path.strip("/"), []).extend(rows)

    def column(entity: str, ending: str) -> list[Any]:
        return [
            value
            for row in read[entity]
            for name, value in row.items()
            if name.endswith(ending) and value is not None
        ]

    one = record.episode
    for name in ("action", "observation", "joints", "setpoints"):
        recorded = getattr(
            one, {"action": "actions", "observation": "observations"}.get(name, name)
        )
        values = column(name, "Scalars:scalars")
        np.testing.assert_array_equal(np.array(values, np.float32), recorded)
    stamps = [time.total_seconds() for time in column("action", "time")]
    np.testing.assert_allclose(stamps, one.stamps, atol=1e-9)
    assert column("chunk/number", "Scalars:scalars") == [[0.0], [1.0], [2.0]]
    assert column("verdict/gap", "Scalars:scalars") == [[GAP.value, GAP.threshold, GAP.margin]]
    assert "not seated" in column("verdict", "TextDocument:text")[0][0]
    assert "sha256" in column("policy", "TextDocument:text")[0][0]
    (png,) = column("evidence/front", "EncodedImage:blob")
    assert bytes(png[0]) == record.evidence["front"]
    assert len(column("policy_camera/0", "EncodedImage:blob")) == 2


def test_mcap_reads_back_what_is_written(record: EpisodeRecord, tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    from mcap.reader import make_reader

    path = tmp_path / "deep" / "out.mcap"
    write_mcap(record, path)
    read: dict[str, list[tuple[float, dict[str, Any]]]] = {}
    schemas: dict[str, str] = {}
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        for schema, channel, message in reader.iter_messages():
            assert schema is not None
            assert channel.message_encoding == "json"
            fields = json.loads(schema.data)["properties"]
            content = json.loads(message.data)
            assert not fields or content.keys() == fields.keys()
            schemas[channel.topic] = schema.name
            read.setdefault(channel.topic, []).append((message.log_time * 1e-9, content))
        (about,) = reader.iter_metadata()
    one = record.episode
    for topic, recorded in (("/action", one.actions), ("/joints", one.joints)):
        values = [list(content.values()) for _, content in read[topic]]
        np.testing.assert_array_equal(np.array(values, np.float32), recorded)
        np.testing.assert_allclose([at for at, _ in read[topic]], one.stamps, atol=1e-9)
    actions = [row for _, content in read["/chunk"] for row in content["actions"]]
    np.testing.assert_array_equal(np.array(actions, np.float32), one.actions)
    ((at, log),) = read["/verdict"]
    assert at == pytest.approx(record.end)
    assert log["level"] == 4
    assert "not seated" in log["message"]
    gap, lost = read["/verdict/predicates"][0][1]["predicates"]
    assert (gap["value"], gap["margin"], gap["state"]) == (GAP.value, GAP.margin, "fail")
    assert lost["value"] is None, "JSON has no NaN"
    image = read["/evidence/front"][0][1]
    assert base64.b64decode(image["data"]) == record.evidence["front"]
    assert (image["format"], schemas["/evidence/front"]) == ("png", "foxglove.CompressedImage")
    seen = base64.b64decode(read["/policy_camera/0"][1][1]["data"])
    assert cv2.imdecode(np.frombuffer(seen, np.uint8), cv2.IMREAD_COLOR).shape == (16, 16, 3)
    assert about.metadata["id"] == "e1"
    assert read["/policy"][0][1]["name"] == "policy-1"

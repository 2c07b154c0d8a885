"""The sample that the repository carries is what its generator makes, and holds what the documents say of it."""

from __future__ import annotations

import pickle
from collections import Counter

from tests.makers import make_sample


def test_the_carried_file_is_what_the_generator_makes() -> None:
    assert make_sample.SAMPLE.read_bytes() == make_sample.sample_bytes()


def test_the_sample_is_small_and_has_the_advertised_contents() -> None:
    raw = make_sample.SAMPLE.read_bytes()
    assert len(raw) <= 300_000
    snapshot = pickle.loads(raw)  # Our own bytes: the test above proves it.
    counts = Counter(event["action"] for event in snapshot["device_traces"][0])
    assert counts["oom"] == 1 and counts["segment_free"] > 0
    assert counts["free_requested"] > counts["free_completed"]
    assert {segment["segment_pool_id"] for segment in snapshot["segments"]} == {(0, 0), (1, 0)}
    assert {annotation["name"] for annotation in snapshot["external_annotations"]} >= {
        "ProfilerStep#0",
        "Optimizer.step#AdamW.step",
    }

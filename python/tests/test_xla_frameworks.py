"""Real JAX and TensorFlow: the same line starts their profiler and keeps what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from frameworks import framework


def last_line(output: str) -> Any:
    return json.loads(output.splitlines()[-1])


JAX = """
import json, jax, jax.numpy as jnp
@jax.jit
def square(x):
    return x @ x.T
"""


def test_jax_keeps_its_profile_and_the_buffers_of_the_end(tmp_path: Path) -> None:
    output, _ = framework("jax").run(
        JAX
        + """
with memstrata.profile("run.html", quiet=True) as p:
    with p.annotate("my_phase"):
        kept = square(jnp.ones((256, 256))).block_until_ready()
    p.step()
programs = [program["name"] for program in p.summary["programs"]]
live_bytes = max(heap["end"]["live_bytes"] for heap in p.summary["heaps"])
print(json.dumps([[file.name for file in p.files], programs, live_bytes]))
""",
        tmp_path,
    )
    names, programs, live_bytes = last_line(output)
    assert [name for name in names if name.endswith(".xplane.pb")] != []
    assert "rank0_end.prof" in names
    assert any("square" in name for name in programs)
    assert live_bytes >= 256 * 256 * 4
    assert (tmp_path / "run.html").is_file()
    profile = next((tmp_path / "run.memstrata" / "xplane").rglob("*.xplane.pb")).read_bytes()
    assert b"my_phase" in profile


def test_tables_become_data_frames(tmp_path: Path) -> None:
    output, _ = framework("jax").run(
        JAX
        + """
with memstrata.profile("run.memstrata", quiet=True) as p:
    kept = square(jnp.ones((256, 256))).block_until_ready()
frame = p.to_dataframe("heaps")
print(json.dumps([type(frame).__name__, len(frame) == len(p.summary["heaps"]), "capacity_bytes" in frame.columns]))
""",
        tmp_path,
    )
    assert last_line(output) == ["DataFrame", True, True]


def test_jax_dumps_its_buffers_every_few_steps_and_keeps_the_newest(tmp_path: Path) -> None:
    framework("jax").run(
        JAX
        + """
with memstrata.profile("run.memstrata", every=1, keep=2, quiet=True) as p:
    for _ in range(4):
        square(jnp.ones((8, 8)))
        p.step()
""",
        tmp_path,
    )
    names = sorted(path.name for path in (tmp_path / "run.memstrata" / "jax").iterdir())
    assert names == ["rank0_end.prof", "rank0_step00000003.prof", "rank0_step00000004.prof"]


def test_jax_ranks_are_one_session(tmp_path: Path) -> None:
    for rank in ("0", "1"):
        framework("jax").run(
            JAX
            + """
with memstrata.profile("job.memstrata", quiet=True):
    kept = square(jnp.ones((64, 64))).block_until_ready()
""",
            tmp_path,
            RANK=rank,
            WORLD_SIZE="2",
        )
    output, _ = framework("jax").run(
        "import json; print(json.dumps(memstrata.load('job.memstrata').summary['sources']))", tmp_path
    )
    files = [source["file"] for source in last_line(output)]
    assert sum("xplane/rank0" in file for file in files) == 1
    assert sum("xplane/rank1" in file for file in files) == 1
    assert sum(file.endswith("_end.prof") for file in files) == 2


def test_tensorflow_keeps_its_profile(tmp_path: Path) -> None:
    output, _ = framework("tensorflow").run(
        """
        import json, tensorflow as tf
        with memstrata.profile("run.memstrata", quiet=True) as p:
            with p.annotate("my_phase"):
                kept = tf.ones((64, 64)) @ tf.ones((64, 64))
            p.step()
        print(json.dumps([file.name for file in p.files]))
        """,
        tmp_path,
    )
    (name,) = last_line(output)
    assert name.endswith(".xplane.pb")
    profile = next((tmp_path / "run.memstrata" / "xplane").rglob("*.xplane.pb")).read_bytes()
    assert b"my_phase" in profile

"""XPlane profiles: random programs with known truth, and XProf's own outputs where the reference data are present."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.makers.make_xplane import Expected, Options, make
from tests.real_data import DATA

from .program import Program

GOLDEN = DATA / "xprof-golden"

PROGRAMS = [
    Options(seed=1),
    Options(seed=2, thread_count=1, event_count=50),
    Options(seed=3, is_tpu=True, preexisting_count=5),
    Options(seed=4, preexisting_count=40),
    Options(seed=5, quantum_ps=20_000_000),
    Options(seed=6, quantum_ps=40_000_000, is_tpu=True),
    Options(seed=7, lost_fraction=0.05, preexisting_count=10),
    Options(seed=8, event_count=2500, thread_count=7, skew_ns=3_000_000),
]


def write(folder: Path, options: Options) -> tuple[Path, Expected]:
    data, expected = make(options)
    path = folder / "host0.xplane.pb"
    path.write_bytes(data)
    return path, expected


@pytest.mark.parametrize("options", PROGRAMS, ids=lambda options: f"seed{options.seed}")
def test_summary_finds_what_the_model_did(program: Program, tmp_path: Path, options: Options) -> None:
    path, expected = write(tmp_path, options)
    printed = program.summary(path)
    (heap,) = printed["heaps"]
    used = heap["peak"]["used"]
    assert heap["allocation_count"] == expected.allocation_count
    assert heap["free_count"] == expected.free_count
    assert used["bytes"] == expected.peak_used_bytes
    assert used["live_bytes"] == expected.peak_heap_bytes
    assert heap["lifetime_peak_bytes"] == expected.lifetime_peak_bytes
    assert heap["peak"]["live"]["bytes"] == max(expected.heap_levels)
    assert heap["lifetime_peak_bytes"] >= used["live_bytes"]
    assert heap["preexisting"]["bytes"] >= expected.preexisting_bytes or expected.missing_count > 0
    assert sum(row["bytes"] for row in heap["holders"]) == used["bytes"]
    jumps = [row["count"] for row in printed["diagnostics"] if row["code"] == "heap_jump"]
    assert sum(jumps) == expected.missing_count


@pytest.mark.parametrize("options", PROGRAMS, ids=lambda options: f"seed{options.seed}")
def test_sizes_of_the_events_give_the_recorded_levels(program: Program, tmp_path: Path, options: Options) -> None:
    """Of equal times several orders may be possible; the levels that they pass through are the same."""
    path, expected = write(tmp_path, options)
    if expected.missing_count > 0:
        pytest.skip("events are missing on purpose: sizes alone do not give the levels")
    level = expected.preexisting_bytes
    levels = []
    for row in program.table(path, "events"):
        level += int(row["size_bytes"]) if row["kind"] == "alloc" else -int(row["size_bytes"])
        levels.append(level)
    assert sorted(levels) == sorted(expected.heap_levels)


def test_correct_conversion_counts_all_events(program: Program, tmp_path: Path) -> None:
    path, expected = write(tmp_path, PROGRAMS[-1])
    answer = program.run("convert", path, "--to", "xprof-memory-profile")
    (allocator,) = answer.json()["memoryProfilePerAllocator"].values()
    assert int(allocator["profileSummary"]["allocationCount"]) == expected.allocation_count
    assert int(allocator["profileSummary"]["deallocationCount"]) == expected.free_count
    assert len(allocator["sampledTimelineSnapshots"]) == 1000


def test_two_threads_read_what_one_would(program: Program, tmp_path: Path) -> None:
    """Above 4 MiB of events two threads share the decoding; which of them takes what must not show."""
    path, expected = write(tmp_path, Options(seed=9, event_count=60_000, thread_count=5, preexisting_count=20))
    assert path.stat().st_size > 5 << 20
    first = program.run("convert", path, "--to", "csv", "--table", "events")
    assert first.status == 0
    assert program.run("convert", path, "--to", "csv", "--table", "events").stdout == first.stdout
    (heap,) = program.summary(path)["heaps"]
    assert heap["allocation_count"] == expected.allocation_count
    assert heap["free_count"] == expected.free_count
    assert heap["peak"]["used"]["bytes"] == expected.peak_used_bytes
    assert sum(row["bytes"] for row in heap["holders"]) == expected.peak_used_bytes


@pytest.mark.parametrize("keep", [0.0, 0.01, 0.3, 0.7, 0.999])
def test_cut_off_files_are_answered(program: Program, tmp_path: Path, keep: float) -> None:
    data, _ = make(PROGRAMS[0])
    path = tmp_path / "host0.xplane.pb"
    path.write_bytes(data[: int(len(data) * keep)])
    answer = program.run("summary", "--json", path)
    assert answer.status in (0, 1)
    printed = answer.json()
    assert printed["schema"] in ("memstrata.summary/1", "memstrata.error/1")
    if answer.status == 0:
        assert printed["sources"][0]["truncated"]


def test_several_hosts_are_one_session(program: Program, tmp_path: Path) -> None:
    run = tmp_path / "log" / "plugins" / "profile" / "2026_01_01_00_00_00"
    run.mkdir(parents=True)
    peaks = {}
    for seed, host in ((11, "host_a"), (12, "host_b")):
        data, expected = make(Options(seed=seed))
        (run / f"{host}.xplane.pb").write_bytes(data)
        peaks[host] = expected.peak_used_bytes
    printed = program.summary(tmp_path / "log")
    assert [heap["id"] for heap in printed["heaps"]] == ["host_a/GPU_0_bfc", "host_b/GPU_0_bfc"]
    assert {row["host"]: row["peak_used_bytes"] for row in printed["hosts"]} == peaks
    assert printed["hosts"][0]["peak_used_bytes"] == max(peaks.values())


def test_two_files_of_one_host_are_told_apart_and_said(program: Program, tmp_path: Path) -> None:
    paths = []
    for seed, folder in ((11, "a"), (12, "b")):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "host0.xplane.pb")
        paths[-1].write_bytes(make(Options(seed=seed))[0])
    printed = program.run("summary", "--json", *paths).json()
    assert [heap["id"] for heap in printed["heaps"]] == ["host0/GPU_0_bfc", "host0#2/GPU_0_bfc"]
    assert [row["count"] for row in printed["diagnostics"] if row["code"] == "duplicate_host"] == [2]


DUMPED = (
    "BufferAssignment:\nallocation 0: size 4096, preallocated-temp:\n"
    " value: <1 f @0> (size=4096,offset=0): f32[1024]{0}\n"
)
REPORTED = "Memory Space: default (color=0)\nTotal bytes: 64 (64B)\n"


def test_a_dump_is_a_session_of_its_programs(program: Program, tmp_path: Path) -> None:
    for name, text in (
        ("module_1.jit_f.cpu_after_optimizations-buffer-assignment.txt", DUMPED),
        ("module_1.jit_f.cpu_after_optimizations-memory-usage-report.txt", REPORTED),
        ("module_2.jit_g.cpu_after_optimizations-memory-usage-report.txt", REPORTED),
        ("module_1.jit_f.before_optimizations.hlo.pb", "not read"),
        ("module_1.jit_f.cpu_after_optimizations.txt", "HloModule jit_f"),
    ):
        (tmp_path / name).write_text(text)
    printed = program.summary(tmp_path)
    assert [(plan["name"], plan["total_bytes"]) for plan in printed["programs"]] == [
        ("module_1.jit_f.cpu_after_optimizations", 4096),
        ("module_2.jit_g.cpu_after_optimizations", 64),
    ]
    first, second = printed["programs"]
    assert first["temp_bytes"] == 4096
    assert first["peak_bytes"] is None
    assert second["temp_bytes"] is None
    assert [row["count"] for row in printed["diagnostics"] if row["code"] == "unplanned_programs"] == [1]


def test_riegeli_files_are_refused_in_words(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "host0.xplane.riegeli"
    path.write_bytes(b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f" * 8)
    for named in (path, tmp_path):
        answer = program.run("summary", named)
        assert answer.status == 1
        assert "riegeli" in answer.stderr
        assert "*.xplane.pb" in answer.stderr


def canon_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("canon", GOLDEN / "canon.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def profile_references() -> list[tuple[Path, Path]]:
    """(profile, XProf's output)."""
    found = []
    for reference in sorted(GOLDEN.rglob("*.memory_profile.json")):
        name = reference.name.replace(".memory_profile.json", ".xplane.pb")
        folder = DATA / "xplane" if reference.parent.name == "given" else reference.parent
        if (folder / name).exists() and reference.read_text().strip():
            found.append((folder / name, reference))
    return found


def viewer_references() -> list[tuple[Path, list[str], Path]]:
    found: list[tuple[Path, list[str], Path]] = []
    for reference in sorted((GOLDEN / "viewer").glob("*.memory_viewer.json")):
        found.append(
            (reference.with_name(reference.name.replace(".memory_viewer.json", ".hlo_proto.pb")), [], reference)
        )
    for reference in sorted((GOLDEN / "given").glob("*.memory_viewer.*.json")):
        name, module = reference.name.removesuffix(".json").split(".memory_viewer.", 1)
        found.append((DATA / "xplane" / f"{name}.xplane.pb", ["--module", module], reference))
    return found


needs_references = pytest.mark.skipif(not GOLDEN.is_dir(), reason=f"{GOLDEN} is absent: no outputs of XProf to compare")


@needs_references
def test_compatible_profiles_equal_xprofs(program: Program) -> None:
    canon: Any = canon_module()
    for path, reference in profile_references():
        answer = program.run("convert", path, "--to", "xprof-memory-profile", "--xprof-compat")
        assert answer.status == 0, f"{path}: {answer.stderr}"
        assert canon.canon(answer.stdout.decode()) == canon.canon(reference.read_text()), path


@needs_references
def test_viewers_equal_xprofs(program: Program) -> None:
    for path, module, reference in viewer_references():
        answer = program.run("convert", path, "--to", "xprof-memory-viewer", *module)
        assert answer.status == 0, f"{path} {module}: {answer.stderr}"
        assert answer.json() == json.loads(reference.read_text()), (path, module)


@needs_references
def test_programs_count_what_jax_counts(program: Program) -> None:
    for reference in sorted((GOLDEN / "hlo_dump").glob("*.memory_analysis.json")):
        analysis = json.loads(reference.read_text())
        path = reference.with_name(reference.name.replace(".memory_analysis.json", ".after_optimizations.hlo.pb"))
        (plan,) = program.summary(path)["programs"]
        for ours, theirs in (("argument", "argument"), ("output", "output"), ("alias", "alias"), ("temp", "temp")):
            assert plan[f"{ours}_bytes"] == analysis[f"{theirs}_size_in_bytes"], (path, ours)


@needs_references
def test_device_profiles_hold_what_jax_had_live(program: Program) -> None:
    totals = {}
    for truth in sorted((GOLDEN / "pprof").glob("*.truth.json")):
        expected = json.loads(truth.read_text())
        path = truth.with_name(truth.name.replace(".truth.json", ".prof"))
        heaps = program.summary(path)["heaps"]
        assert sum(heap["end"]["live_bytes"] for heap in heaps) == expected["live_bytes"], path
        totals[path] = expected["live_bytes"]
    (before, before_bytes), (after, after_bytes) = sorted(totals.items(), key=lambda item: item[1])[-2:]
    difference = program.run("diff", "--json", before, after).json()
    assert sum(heap["peak_live_delta_bytes"] for heap in difference["heaps"]) == after_bytes - before_bytes
    for heap in difference["heaps"]:
        assert sum(row["delta_bytes"] for row in heap["rows"]) == heap["peak_live_delta_bytes"]


@needs_references
def test_text_reports_say_what_the_proto_says(program: Program) -> None:
    for proto in sorted((GOLDEN / "hlo_dump").glob("*.hlo.pb")):
        stem = str(proto).removesuffix(".hlo.pb")
        (plan,) = program.summary(proto)["programs"]
        (assignment,) = program.summary(Path(stem + "-buffer-assignment.txt"))["programs"]
        for name in ("argument", "output", "alias", "temp", "constant", "thread_local", "total"):
            assert assignment[f"{name}_bytes"] == plan[f"{name}_bytes"], (proto, name)
        assert not assignment["approximate"]
        report = program.summary(Path(stem + "-memory-usage-report.txt"))
        (reported,) = report["programs"]
        assert reported["total_bytes"] == plan["total_bytes"] + plan["thread_local_bytes"]
        assert reported["temp_bytes"] is None
        assert not [row for row in report["diagnostics"] if row["code"] == "unknown_line"]


@needs_references
def test_runs_of_programs_add_up_and_find_their_plans(program: Program) -> None:
    parts = ("own_temp", "own_output", "own_unplanned", "other", "before_recording", "not_recorded")
    came_true = 0
    for path in sorted((DATA / "xplane").glob("*jax*.xplane.pb")):
        for heap in program.run("summary", "--json", "--top", 1000, path).json()["heaps"]:
            for run in heap["programs"]:
                assert run["used_bytes"] == run["stack_bytes"] + sum(run[f"{part}_bytes"] for part in parts), path
                if run["matched_by"] != "id" or run["unallocated_bytes"] > 0:
                    continue
                # The plan came true: what the run holds at its highest moment is what was planned, but for rounding.
                came_true += 1
                held = run["own_temp_bytes"] + run["own_output_bytes"]
                assert held <= run["temp_bytes"] + run["output_bytes"] + run["rounding_bytes"]
                assert run["own_unplanned_bytes"] >= 0
    assert came_true > 0


@needs_references
def test_damaged_programs_get_a_sentence(program: Program) -> None:
    for name in ("double_free", "unknown_instruction", "no_module"):
        path = GOLDEN / "hlo_bad" / f"{name}.hlo_proto.pb"
        answer = program.run("convert", path, "--to", "xprof-memory-viewer")
        assert answer.status == 1
        assert answer.stderr.startswith("memstrata: ")

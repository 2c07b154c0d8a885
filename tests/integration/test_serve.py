"""`memstrata open` as a client sees it: who may ask, what comes back, and that no client ends the server."""

from __future__ import annotations

import concurrent.futures
import gzip
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.makers import pickle_writer, snapshot_schema
from tests.makers.training_program import Batch, TrainingRun
from tests.makers.transformer_model import Shape
from tests.oracle import summary_oracle

from .embedded_page import embedded_document
from .program import Program

SMALL_MODEL = Shape(hidden=256, feed_forward=512, head_count=4, layer_count=2, vocabulary=1000)
START_TIMEOUT_S = 60.0


class Server:
    def __init__(self, program: Program, *files: Path) -> None:
        self.process = subprocess.Popen(
            [program.binary, "open", "--no-browser", *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.url = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        assert self.url.hostname == "127.0.0.1" and self.url.port is not None, self.process.stderr
        self.port: int = self.url.port

    def request(
        self, path: str, *, method: str = "GET", headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def ask(self, question: str) -> Any:
        response, body = self.request(f"{self.url.path}api/v1/{question}")
        assert response.status == 200, body
        return json.loads(body)

    def frame(self, question: str) -> tuple[dict[str, Any], dict[str, dict[str, list[float]]]]:
        response, body = self.request(f"{self.url.path}api/v1/{question}")
        assert response.status == 200, body
        return decode_frame(body)

    def wait_until_read(self) -> dict[str, Any]:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            progress: dict[str, Any] = self.ask("progress")
            if progress["state"] != "reading":
                return progress
            time.sleep(0.05)
        raise AssertionError("the file was not read in time")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=30)


def decode_frame(body: bytes) -> tuple[dict[str, Any], dict[str, dict[str, list[float]]]]:
    assert body[:4] == b"MSF1"
    (header_bytes,) = struct.unpack_from("<I", body, 4)
    header = json.loads(body[8 : 8 + header_bytes])
    begin = 8 + header_bytes
    assert begin % 8 == 0
    letters = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "f32": "f", "f64": "d", "u64": "Q"}
    tables = {
        table["name"]: {
            column["name"]: list(
                struct.unpack_from(f"<{table['rows']}{letters[column['type']]}", body, begin + column["offset"])
            )
            for column in table["columns"]
        }
        for table in header["tables"]
    }
    return header["attributes"], tables


@pytest.fixture(scope="module")
def snapshot() -> Any:
    run = TrainingRun([Batch(2, 128), Batch(2, 96)], shape=SMALL_MODEL)
    run.run()
    return snapshot_schema.snapshot("2.7", [run.device], run.annotations)


@pytest.fixture(scope="module")
def snapshot_file(snapshot: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("serve") / "snapshot.pickle"
    path.write_bytes(pickle_writer.ENCODINGS["protocol4"](snapshot))
    return path


@pytest.fixture(scope="module")
def server(program: Program, snapshot_file: Path) -> Iterator[Server]:
    started = Server(program, snapshot_file)
    assert started.wait_until_read()["state"] == "ready"
    yield started
    assert started.process.poll() is None, "the server has ended by itself"
    assert started.stop() == 0


def test_the_page_and_its_policy(server: Server) -> None:
    response, body = server.request(server.url.path)
    assert response.status == 200 and b"<script" in body
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    script, packed = server.request(f"{server.url.path}assets/memstrata.js", headers={"Accept-Encoding": "gzip"})
    assert script.headers["Content-Encoding"] == "gzip"
    _, plain = server.request(f"{server.url.path}assets/memstrata.js")
    assert gzip.decompress(packed) == plain


def test_figures_agree_with_the_slow_reader(server: Server, snapshot: Any) -> None:
    heap = server.ask("session")["heaps"][0]
    expected = summary_oracle.heaps(snapshot)[heap["id"]]
    assert (heap["peak_live_bytes"], heap["peak_live_seq"]) == (expected.peak_live_bytes, expected.peak_live_seq)
    for columns in (1, 7, 256):
        _, tables = server.frame(f"tile?kind=live_curve&heap=0&begin=0&end={heap['range_end']}&columns={columns}")
        assert max(tables["columns"]["live_max_bytes"]) == expected.peak_live_bytes


def test_every_grouping_and_order_adds_up_to_the_curve(server: Server) -> None:
    heap = server.ask("session")["heaps"][0]
    window = f"heap=0&begin=0&end={heap['range_end']}&columns=50"
    _, curve = server.frame(f"tile?kind=live_curve&{window}")
    for group in ("category", "stack", "module", "file", "function", "size", "lifetime"):
        for order in ("grouped", "allocation"):
            attributes, tables = server.frame(
                f"tile?kind=alloc_stack&{window}&group={group}&order={order}&min_bytes=64"
            )
            assert tables["columns"]["at_seq"] == curve["columns"]["at_seq"]
            for column in range(50):
                bands = sum(tables["bands"]["bytes"][g * 50 + column] for g in range(len(attributes["groups"])))
                assert bands == curve["columns"]["live_max_bytes"][column], (group, order, column)


def test_holders_flame_state_and_cursor_tell_the_same_bytes(server: Server) -> None:
    heap = server.ask("session")["heaps"][0]
    seq = heap["peak_live_seq"]
    cursor = server.ask(f"cursor?heap=0&seq={seq}")
    assert cursor["live_bytes"] == heap["peak_live_bytes"]
    for by in ("stack", "function", "file", "category", "module"):
        holders = server.ask(f"holders?heap=0&of=peak&by={by}&limit=2000")
        assert sum(row["bytes"] for row in holders["rows"]) == holders["total_bytes"] == cursor["live_bytes"]
        for root in ("caller", "callee"):
            attributes, tables = server.frame(f"flame?heap=0&of=peak&by={by}&root={root}&max_nodes=50")
            assert attributes["total_bytes"] == sum(tables["nodes"]["self_bytes"]) == cursor["live_bytes"]
    state, tables = server.frame(f"state?heap=0&seq={seq}")
    assert sum(tables["blocks"]["requested_bytes"]) + state["outside_bytes"] == cursor["live_bytes"]
    used = sum(tables["segments"]["used_bytes"])
    assert (
        used + sum(tables["holes"]["size_bytes"]) == sum(tables["segments"]["size_bytes"]) == cursor["reserved_bytes"]
    )
    assert sum(state["by_kind"].values()) == sum(tables["holes"]["size_bytes"])


def test_picking_finds_the_run_that_is_drawn(server: Server) -> None:
    heap = server.ask("session")["heaps"][0]
    _, tables = server.frame(
        f"tile?kind=alloc_stack&heap=0&begin=0&end={heap['range_end']}&columns=20&order=allocation"
    )
    runs = tables["runs"]
    for i in range(0, len(runs["allocation"]), max(1, len(runs["allocation"]) // 25)):
        if runs["allocation"][i] == 0xFFFFFFFF:
            continue
        at_seq = tables["columns"]["at_seq"][int(runs["column_begin"][i])]
        y_bytes = int(runs["y0_bytes"][i] + runs["y1_bytes"][i]) // 2
        picked = server.ask(f"pick?heap=0&seq={at_seq}&y_bytes={y_bytes}&order=allocation")
        assert picked["allocation"] == runs["allocation"][i]
        details = server.ask(f"allocation?heap=0&row={int(runs['allocation'][i])}")
        assert details["size_bytes"] == runs["y1_bytes"][i] - runs["y0_bytes"][i]


def test_comparison_adds_up_to_the_peaks(program: Program, snapshot_file: Path, tmp_path: Path) -> None:
    run = TrainingRun([Batch(3, 128)], shape=SMALL_MODEL)
    run.run()
    other = tmp_path / "other.pickle"
    other.write_bytes(pickle_writer.ENCODINGS["protocol4"](snapshot_schema.snapshot("2.7", [run.device])))
    server = Server(program, snapshot_file, other)
    assert server.wait_until_read()["state"] == "ready"
    before, after = (heap["peak_live_bytes"] for heap in server.ask("session")["heaps"])
    assert before != after
    row_counts = []
    for by in ("stack", "function", "category"):
        (heap,) = server.ask(f"compare?before=0&after=1&by={by}")["heaps"]
        assert sum(row["before_bytes"] for row in heap["rows"]) == before == heap["before_peak_bytes"]
        assert sum(row["after_bytes"] for row in heap["rows"]) == after == heap["after_peak_bytes"]
        assert heap["peak_live_delta_bytes"] == after - before
        assert all(row["delta_bytes"] == row["after_bytes"] - row["before_bytes"] for row in heap["rows"])
        changes = [abs(row["delta_bytes"]) for row in heap["rows"]]
        assert changes == sorted(changes, reverse=True)
        row_counts.append(len(changes))
    assert row_counts[0] >= row_counts[1] and row_counts[2] <= 12
    for question in ("compare?before=0&after=9&by=stack", "compare?before=0&by=stack", "compare?before=0&after=1&by=x"):
        response, _ = server.request(f"{server.url.path}api/v1/{question}")
        assert response.status in (400, 404)
    assert server.stop() == 0


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 404),
        ("/api/v1/session", {}, 404),
        ("{token}api/v1/session", {"Host": "evil.example"}, 403),
        ("{token}api/v1/session", {"Origin": "http://evil.example"}, 403),
        ("{token}api/v1/nothing", {}, 404),
        ("{token}api/v1/cursor?heap=0&seq=-1", {}, 400),
        ("{token}api/v1/cursor?heap=0&seq=0&seq=1", {}, 400),
        ("{token}api/v1/tile?kind=live_curve&heap=0&begin=0&end=10&columns=99999", {}, 400),
        ("{token}api/v1/tile?kind=live_curve&heap=0&begin=9&end=3&columns=1", {}, 400),
        ("{token}../../etc/passwd", {}, 404),
    ],
)
def test_refusals(server: Server, path: str, headers: dict[str, str], status: int) -> None:
    response, body = server.request(path.replace("{token}", server.url.path), headers=headers)
    assert response.status == status
    error = json.loads(body)
    assert error["schema"] == "memstrata.error/1" and error["message"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        os.urandom(4096),
    ],
    ids=range(9),
)
def test_garbage_does_no_harm(server: Server, garbage: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        try:
            connection.sendall(garbage)
            connection.recv(4096)
        except OSError:
            pass  # the server may well hang up
    assert server.ask("progress")["state"] == "ready"


def test_half_open_and_slow_clients_keep_nobody_out(server: Server) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(60)]
    try:
        for number, connection in enumerate(idle):
            connection.sendall(b"GET /"[: number % 6])
        begin = time.monotonic()
        assert server.ask("progress")["state"] == "ready"
        assert time.monotonic() - begin < 5
    finally:
        for connection in idle:
            connection.close()


def test_200_requests_at_once(server: Server) -> None:
    heap = server.ask("session")["heaps"][0]
    questions = [
        f"tile?kind=alloc_stack&heap=0&begin=0&end={heap['range_end']}&columns={1 + i % 60}&min_bytes=1024"
        for i in range(200)
    ]
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(server.frame, questions))
    assert all(attributes["columns"] == 1 + i % 60 for i, (attributes, _) in enumerate(answers))


def test_a_file_can_be_added_and_is_deleted_at_the_end(program: Program, snapshot_file: Path, tmp_path: Path) -> None:
    environment_folder = tmp_path / "temporary"
    environment_folder.mkdir()
    old = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(environment_folder)
    try:
        server = Server(program, snapshot_file)
    finally:
        if old is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = old
    assert server.wait_until_read()["state"] == "ready"
    response, body = server.request(
        f"{server.url.path}api/v1/sources?name=second.pickle", method="POST", body=snapshot_file.read_bytes()
    )
    assert response.status == 200, body
    assert server.wait_until_read()["state"] == "ready"
    session = server.ask("session")
    assert [source["file"].rsplit("/")[-1] for source in session["sources"]] == ["snapshot.pickle", "1-second.pickle"]
    assert list(environment_folder.rglob("*.pickle"))
    # Open pages keep their connections; the end does not wait for them, and still leaves nothing behind.
    idle = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    idle.request("GET", f"{server.url.path}api/v1/progress")
    idle.getresponse().read()
    begin = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begin < 3, "the server waits five seconds for a client that says nothing"
    idle.close()
    assert not list(environment_folder.iterdir())


def test_search_finds_any_frame_and_holders_tell_categories_apart(server: Server, snapshot: Any) -> None:
    allocations = [event for event in snapshot["device_traces"][0] if event["action"] == "alloc"]
    names = {frame["name"] for event in allocations for frame in event.get("frames", [])}
    for name in sorted(names):
        hits = server.ask(f"search?heap=0&q={urllib.parse.quote(name)}")["hits"]
        assert any(hit["kind"] == "function" and hit["label"].startswith(name[:20]) for hit in hits), name
    end = server.ask("session")["heaps"][0]["range_end"]
    made = {row["key"] for row in server.ask(f"holders?heap=0&of=allocated&begin=0&end={end}&by=category")["rows"]}
    named = {"optimizer state": "optimizer_state", "gradients": "gradient", "activations": "activation"}
    assert set(named.values()) <= made
    for words in [*named, *named.values()]:
        hits = server.ask(f"search?heap=0&q={urllib.parse.quote(words)}")["hits"]
        assert any(hit["kind"] == "category" for hit in hits), words
    by_category = {row["key"]: row["bytes"] for row in server.ask("holders?heap=0&of=peak&by=category")["rows"]}
    for by in ("stack", "function", "file", "module"):
        rows = server.ask(f"holders?heap=0&of=peak&by={by}&limit=2000")["rows"]
        assert len({row["key"] for row in rows}) == len(rows)
        stackless = [row for row in rows if row["stack_id"] is None]
        assert len({(row["label"], row["category"]) for row in stackless}) == len(stackless)
        for row in stackless:
            assert row["bytes"] <= by_category[row["category"]]


def test_a_broken_file_is_said_in_the_page(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "broken.pickle"
    path.write_bytes(b"\x80\x04 this is no pickle")
    server = Server(program, path)
    progress = server.wait_until_read()
    assert progress["state"] == "failed" and progress["error"]["message"]
    assert server.stop() == 0


def test_a_missing_file_and_a_taken_port_end_at_once(program: Program, server: Server, snapshot_file: Path) -> None:
    assert program.run("open", "--no-browser", "/nonexistent/file").status == 1
    taken = program.run("open", "--no-browser", "--port", str(server.port), snapshot_file)
    assert taken.status == 1 and "--port" in taken.stderr


def test_the_report_holds_what_the_page_asks_first(
    program: Program, server: Server, snapshot_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "out.html"
    assert program.run("report", snapshot_file, "-o", path, timeout_s=30).status == 0
    assert path.stat().st_size <= 5_000_000 and path.stat().st_mode & 0o777 == 0o600
    text = path.read_text("utf-8")
    assert "default-src 'none'" in text and "src=" not in text.split("<script", 1)[0]
    embedded = embedded_document(text)
    assert embedded["schema"] == "memstrata.embedded/1"
    assert embedded["reduced"] == []  # the whole run has room
    session = embedded["answers"]["session"]["json"]
    assert session["heaps"] == server.ask("session")["heaps"]
    heap = session["heaps"][0]
    keys = embedded["answers"].keys()
    assert f"cursor?heap=0&seq={heap['peak_live_seq']}" in keys
    assert any(key.startswith("tile?") and "kind=alloc_stack" in key for key in keys)
    assert "holders?by=stack&heap=0&limit=2000&of=peak&offset=0" in keys
    assert "flame?by=stack&heap=0&max_nodes=5000&of=peak&root=caller" in keys
    again = tmp_path / "again.html"
    assert program.run("report", snapshot_file, "-o", again, timeout_s=30).status == 0
    assert again.read_bytes() == path.read_bytes()

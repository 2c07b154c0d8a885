"""Draws what the program prints in a terminal as SVG pictures for the documents.

    python3 -m tools.render_terminal --binary build/release/memstrata

The output is the real one, colours included, of a run in a pseudo-terminal. The documents' check renders every picture
again and compares.
"""

from __future__ import annotations

import argparse
import fcntl
import gzip
import html
import os
import pty
import re
import shlex
import struct
import subprocess
import tempfile
import termios
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RECORDINGS = REPOSITORY / "tests" / "samples" / "recordings"
SAMPLE = RECORDINGS / "long_batch.torch-2.11.pickle.gz"

# Picture, the command that it shows, and of its output: from the line with the first text to the end of the paragraph
# with the second.
PICTURES = (
    ("docs/images/summary.svg", "memstrata summary snapshot.pickle", "snapshot.pickle", "What this file cannot tell"),
    ("docs/images/summary_curve.svg", "memstrata summary snapshot.pickle", "cuda:0", "Peak live"),
    ("docs/images/summary_holders.svg", "memstrata summary snapshot.pickle", "Who holds", "Who holds"),
    (
        "docs/images/summary_by_function.svg",
        "memstrata summary snapshot.pickle --by function --top 5",
        "Who holds",
        "Who holds",
    ),
    ("docs/images/summary_idle.svg", "memstrata summary snapshot.pickle", "Reserved but idle", "Out of memory"),
)

# Pictures that the program draws itself, and the recording of each.
DRAWN = (
    ("docs/images/annotated_timeline.svg", SAMPLE),
    ("docs/images/annotated_recompute.svg", RECORDINGS / "recomputed_training.torch-2.11.pickle.gz"),
    ("docs/images/annotated_leak.svg", RECORDINGS / "leak_until_out_of_memory.torch-2.11.pickle.gz"),
)

COLUMN_COUNT = 100
CHARACTER_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 18, 16
FONTS = "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace"
FOREGROUND, BACKGROUND, PROMPT = "#d7dce2", "#14181d", "#8fd19e"
COLORS = {"31": "#ff7b72", "32": "#8fd19e", "33": "#e3b341", "34": "#79b8ff", "35": "#d2a8ff", "36": "#56c8d8"}
BLOCKS = "▁▂▃▄▅▆▇█"  # drawn as rectangles: fonts leave gaps between them
PIECE = re.compile(rf"[{BLOCKS}]|[^ {BLOCKS}]+(?: [^ {BLOCKS}]+)*")  # a block, or text without wide gaps
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


def terminal_output(binary: Path, command: str) -> str:
    """Standard output of the command when that is a terminal of 100 columns."""
    program, *arguments = shlex.split(command)
    assert program == "memstrata"
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMN_COUNT, 0, 0))
    with tempfile.TemporaryDirectory(prefix="picture-") as folder:
        (Path(folder) / "snapshot.pickle").write_bytes(gzip.decompress(SAMPLE.read_bytes()))
        environment = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        with subprocess.Popen(
            [binary, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=subprocess.DEVNULL,
        ) as process:
            os.close(terminal)
            chunks = []
            while True:
                try:
                    chunk = os.read(controller, 1 << 16)
                except OSError:  # the terminal was closed: the program has ended
                    break
                if not chunk:
                    break
                chunks.append(chunk)
        os.close(controller)
    if process.returncode != 0:
        raise RuntimeError(f"`{command}` ended with exit status {process.returncode}")
    return b"".join(chunks).decode("utf-8").replace("\r\n", "\n")


def excerpt(lines: list[str], first: str, last: str) -> list[str]:
    begin = next(index for index, line in enumerate(lines) if first in line)
    end = next(index for index, line in enumerate(lines) if index >= begin and last in line)
    while end < len(lines) and ESCAPE.sub("", lines[end]).strip():
        end += 1
    return lines[begin:end]


def styled_runs(line: str) -> list[tuple[set[str], str]]:
    """Stretches of a line with the escape codes that hold in each."""
    runs, codes, position = [], set(), 0
    for escape in ESCAPE.finditer(line):
        runs.append((set(codes), line[position : escape.start()]))
        for code in (escape.group(1) or "0").split(";"):
            codes = set() if code in ("", "0") else codes | {code}
        position = escape.end()
    runs.append((set(codes), line[position:]))
    return [(codes, text) for codes, text in runs if text]


def style_attributes(codes: set[str]) -> str:
    color = next((COLORS[code] for code in sorted(codes) if code in COLORS), FOREGROUND)
    bold = ' font-weight="bold"' if "1" in codes else ""
    dim = ' fill-opacity="0.6"' if "2" in codes else ""
    return f'fill="{color}"{bold}{dim}'


def draw_run(text: str, codes: set[str], column: int, top: float) -> list[str]:
    """Text as text with a fixed width, block characters as rectangles."""
    parts = []
    for match in PIECE.finditer(text):
        x = MARGIN + (column + match.start()) * CHARACTER_WIDTH
        piece = match.group(0)
        if piece in BLOCKS:
            height = LINE_HEIGHT * (BLOCKS.index(piece) + 1) / len(BLOCKS)
            y = top + LINE_HEIGHT - height
            place = f'x="{x:.1f}" y="{y:.2f}" width="{CHARACTER_WIDTH}" height="{height:.2f}"'
            parts.append(f"<rect {place} {style_attributes(codes)}/>")
        else:
            place = f'x="{x:.1f}" y="{top + LINE_HEIGHT * 0.75:.1f}" textLength="{len(piece) * CHARACTER_WIDTH:.1f}"'
            parts.append(f"<text {place} {style_attributes(codes)}>{html.escape(piece, quote=False)}</text>")
    return parts


def draw(command: str, lines: list[str]) -> str:
    body = []
    for index, line in enumerate([f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m", *lines]):
        column = 0
        for codes, text in styled_runs(line):
            body += draw_run(text, codes, column, MARGIN + index * LINE_HEIGHT)
            column += len(text)
    column_count = max(COLUMN_COUNT, *(len(ESCAPE.sub("", line)) for line in lines))
    width = column_count * CHARACTER_WIDTH + 2 * MARGIN
    height = (len(lines) + 1) * LINE_HEIGHT + 2 * MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img"',
            f'  font-family="{FONTS}" font-size="14" shape-rendering="crispEdges">',
            f"<title>Output of: {html.escape(command)}</title>",
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
            *body,
            "</svg>\n",
        ]
    )


def drawn_by_the_program(binary: Path, recording: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="picture-") as folder:
        (Path(folder) / "snapshot.pickle").write_bytes(gzip.decompress(recording.read_bytes()))
        command = [binary, "explain", "snapshot.pickle", "--quiet", "-o", "out.svg"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return (Path(folder) / "out.svg").read_text(encoding="utf-8")


def render(binary: Path) -> dict[Path, str]:
    terminal = {
        REPOSITORY / name: draw(command, excerpt(terminal_output(binary, command).splitlines(), first, last))
        for name, command, first, last in PICTURES
    }
    return terminal | {REPOSITORY / name: drawn_by_the_program(binary, recording) for name, recording in DRAWN}


def problems(binary: Path) -> list[str]:
    return [
        f"{path.relative_to(REPOSITORY)} is not what the program prints; run python3 -m tools.render_terminal"
        for path, picture in render(binary).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != picture
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "build" / "release" / "memstrata")
    for path, picture in render(parser.parse_args().binary.resolve()).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()

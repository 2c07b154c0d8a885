"""`explain -o` and `report -o`: the annotated timeline as SVG, PNG and HTML."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.samples.sample import SAMPLE

from .program import Program

SVG = "{http://www.w3.org/2000/svg}"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def draw(program: Program, path: Path, *flags: str, verb: str = "explain") -> bytes:
    answer = program.run(verb, SAMPLE, "-o", path, *flags, timeout_s=20)
    assert answer.status == 0, answer.stderr
    return path.read_bytes()


def texts_of(svg: bytes) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(SVG + "text")]


def test_svg_says_what_the_recording_shows(program: Program, tmp_path: Path) -> None:
    texts = texts_of(draw(program, tmp_path / "a.svg"))
    assert any(text.startswith("Out of memory: ") for text in texts)
    assert any(text.startswith("Peak ") for text in texts)
    assert "parameters" in " ".join(texts).lower()
    assert any(re.fullmatch(r"step \d+", text) for text in texts)


def test_svg_has_no_links_scripts_or_fonts(program: Program, tmp_path: Path) -> None:
    svg = draw(program, tmp_path / "a.svg")
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}
    assert tags <= {"svg", "title", "rect", "path", "circle", "text"}


def test_png_is_twice_as_large_as_the_svg(program: Program, tmp_path: Path) -> None:
    png = draw(program, tmp_path / "a.png")
    assert png.startswith(PNG_SIGNATURE)
    assert struct.unpack(">II", png[16:24]) == (3200, 2000)


@pytest.mark.parametrize("name", ["a.svg", "a.png", "a.html"])
def test_the_same_file_makes_the_same_bytes(program: Program, tmp_path: Path, name: str) -> None:
    assert draw(program, tmp_path / name) == draw(program, tmp_path / ("again" + name))


def test_the_dark_theme_differs_in_colours_only(program: Program, tmp_path: Path) -> None:
    light = draw(program, tmp_path / "light.svg").decode()
    dark = draw(program, tmp_path / "dark.svg", "--theme", "dark").decode()
    colour = re.compile(r"#[0-9A-F]{6}")
    assert light != dark
    assert colour.sub("", light) == colour.sub("", dark)


@pytest.mark.parametrize("name", ["a.svg", "a.png"])
def test_report_draws_the_same_picture(program: Program, tmp_path: Path, name: str) -> None:
    of_explain = draw(program, tmp_path / name)
    assert draw(program, tmp_path / ("report" + name), verb="report") == of_explain


def test_html_tells_how_to_read_each_mark(program: Program, tmp_path: Path) -> None:
    html = draw(program, tmp_path / "a.html").decode()
    assert html.count("<svg") == 1
    assert "<li>" in html
    assert "<script" not in html


@pytest.mark.parametrize("flags", [("-o", "a.pdf"), ("-o", "a.svg", "--theme", "blue"), ("-o", "a.svg", "--heap", "x")])
def test_what_cannot_be_drawn_is_said(program: Program, tmp_path: Path, flags: tuple[str, ...]) -> None:
    arguments = [str(tmp_path / flag) if flag.startswith("a.") else flag for flag in flags]
    answer = program.run("explain", SAMPLE, *arguments)
    assert answer.status == 2, answer.stderr
    assert not list(tmp_path.iterdir())

"""Contrast of the palette, by the formula of WCAG 2: 4.5 for text, 3 for marks and borders of fields."""

import re
from importlib.resources import files

import pytest

TEXT = [
    *((text, ground) for text in ("text", "muted", "accent", "danger") for ground in ("ground", "surface")),
    *((text, "sunken") for text in ("text", "muted")),
    ("text", "accent-soft"),
    ("muted", "accent-soft"),
    ("on-accent", "accent"),
    ("danger", "danger-soft"),
    ("surface", "for"),
    ("surface", "against"),
]
MARKS = [(mark, "surface") for mark in ("head", "tail", "link", "for", "against", "neutral", "field", "accent", "heat")]


def palettes() -> dict[str, dict[str, str]]:
    style = (files("tripleshot.server") / "static" / "style.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--([\w-]+): (#\w{6});", style.split(":root {")[1].split("}")[0]))
    dark = dict(re.findall(r"--([\w-]+): (#\w{6});", style.split(':root[data-theme="dark"] {')[1].split("}")[0]))
    return {"light": light, "dark": dark}


def luminance(color: str) -> float:
    channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(theme):
    palette = palettes()[theme]
    assert {pair: ratio for pair in TEXT if (ratio := contrast(*(palette[name] for name in pair))) < 4.5} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_and_fields_stand_out_from_what_is_behind_them(theme):
    palette = palettes()[theme]
    assert {pair: ratio for pair in MARKS if (ratio := contrast(*(palette[name] for name in pair))) < 3} == {}


def test_both_themes_name_the_same_colours():
    light, dark = palettes().values()
    assert light.keys() == dark.keys()

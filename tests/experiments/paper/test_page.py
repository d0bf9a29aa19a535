from html.parser import HTMLParser
from pathlib import Path

from experiments.paper.documents import result
from tripleshot.experiments.figures import MEASURED_STYLE, draw_dot_plot
from tripleshot.experiments.paper.page import build_page
from tripleshot.experiments.paper.report import Claim, Missing, Picture, Report, Table
from tripleshot.experiments.paper.values import deviations
from tripleshot.files.atomic import write_figure

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Balanced(HTMLParser):
    """Checks that every element is closed, and remembers what is linked to."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def make(tiny, tmp_path, **more):
    write_figure(draw_dot_plot(["a"], {"here": [0.5]}, {"here": MEASURED_STYLE}, "MRR"), tmp_path / "drawn.png")
    report = Report(
        "ablation",
        "Ablation & more",
        ("About `rscl`.",),
        (Table("a table", ("name", "MRR", "printed"), (("<b>", ".1", ".2"),), ("A note.",)),),
        (Picture("drawn", "A picture"),),
        (Claim("It helps.", "not held", ".1 against .2"),),
        **more,
    )
    return build_page(tiny, "h" * 64, [report], [result("rscl", 0.25)], tmp_path)


def test_the_page_is_one_valid_file_without_network_or_scripts(tiny, tmp_path):
    parser = Balanced()
    parser.feed(make(tiny, tmp_path))
    assert not parser.open
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in parser.links)
    assert "script" not in parser.tags
    assert "link" not in parser.tags


def test_names_are_text_and_never_markup(tiny, tmp_path):
    page = make(tiny, tmp_path)
    assert "<td>&lt;b&gt;</td>" in page
    assert "Ablation &amp; more" in page
    assert "About <code>rscl</code>." in page


def test_the_page_says_what_holds_what_it_rests_on_and_what_differs_from_the_paper(tiny, tmp_path):
    page = make(tiny, tmp_path)
    assert "0 held, 1 not held, 0 not known yet" in page
    assert '<td class="printed">.2</td>' in page
    assert "h" * 64 in page
    assert "<td>.250</td>" in page
    assert all(row[0] in page for row in deviations().rows)
    assert "What is missing" not in page


def test_what_is_missing_is_listed_once_with_its_command(tiny, tmp_path):
    first = Missing(("faan, 5-shot", "rscl, 5-shot"), "tripleshot paper main tiny --shots 5")
    second = Missing(("faan, 5-shot",), "tripleshot paper main tiny --shots 5,1")
    other = Missing(("rscl, 5-shot",), "tripleshot paper lambda tiny --shots 5")
    section = make(tiny, tmp_path, missing=(first, second, other)).partition('<section id="missing">')[2]
    assert first.command in section
    assert second.command not in section
    assert other.command in section


def test_the_docs_tell_the_same_deviations():
    docs = (Path(__file__).parents[3] / "docs" / "paper.md").read_text(encoding="utf-8")
    for row in deviations().rows:
        assert f"| {' | '.join(row)} |" in docs

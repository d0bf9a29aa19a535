"""Reading the graphs that the universal weights are trained on."""

from dataclasses import replace

from training_graphs import debian_triples, hold_out_more, pykeen_triples, wordnet_triples

WORDNET = """\
  1 This software and database is being provided to you
00001740 03 n 01 entity 0 003 ~ 00001930 n 0000 @ 00002137 n 0000 + 01382086 a 0101 | that which is
00002137 03 n 02 abstraction 0 abstract_entity 0 001 #p 00001740 n 0000 | a general concept
"""
PACKAGES = """\
Package: nano
Section: editors
Maintainer: Jordi Mallach <jordi@example.org>
Depends: libc6 (>= 2.38), libncursesw6 | libncurses6
Suggests: hunspell
Tag: implemented-in::c, interface::text-mode,
 role::program

Package: libc6
Source: glibc (2.41)
Section: libs
Maintainer: GNU Libc Maintainers <libc@example.org>
"""


def test_pointers_of_wordnet_become_triples_and_of_two_inverse_ones_only_one(tmp_path):
    for part in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"data.{part}").write_text(WORDNET if part == "noun" else "", encoding="latin-1")
    assert list(wordnet_triples(tmp_path)) == [
        ("00001740 noun", "hypernym (noun)", "00002137 noun"),
        ("00001740 noun", "derived from (noun)", "01382086 adjective"),
        ("00002137 noun", "part of (noun)", "00001740 noun"),
    ]


def test_packages_have_dependencies_sources_and_tags(tmp_path):
    (tmp_path / "Packages").write_text(PACKAGES, encoding="utf-8")
    triples = list(debian_triples(tmp_path / "Packages"))
    needed = [tail for head, relation, tail in triples if (head, relation) == ("package/nano", "depends")]
    assert needed == ["package/libc6", "package/libncursesw6", "package/libncurses6"]
    assert ("package/nano", "tag", "role::program") in triples
    assert ("package/nano", "suggests (editors)", "package/hunspell") in triples
    assert ("package/nano", "maintainer", "maintainer/Jordi Mallach") in triples
    assert ("package/libc6", "source", "source/glibc") in triples


def test_every_fifth_train_task_is_held_out(tiny):
    tasks = tuple(replace(tiny.train[0], name=f"task {number}") for number in range(11))
    held = hold_out_more(replace(tiny, train=tasks))
    assert [task.name for task in held.valid] == ["born in", "task 4", "task 9"]
    assert len(held.train) == 9
    assert held.test == tiny.test


def test_small_graphs_come_with_pykeen():
    triples = list(pykeen_triples("nations"))
    assert len(triples) == 1992
    assert len({head for head, _, _ in triples}) == 14

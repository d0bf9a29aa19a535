import hashlib
import json

import pytest

from tripleshot.errors import InputError
from tripleshot.files.checksums import hash_file, read_document, seal_document

DOCUMENT = {"shots": 5, "rate": 0.1, "names": ("é", "b"), "nested": {"2": None}}


def test_the_hash_of_a_file_is_its_sha256(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    assert hash_file(tmp_path / "file") == hashlib.sha256(b"abc").hexdigest()


def test_a_document_comes_back_without_its_checksum_and_one_without_a_checksum_as_it_is(tmp_path):
    for written in (DOCUMENT, seal_document(DOCUMENT)):
        (tmp_path / "page.json").write_text(json.dumps(written, indent=1, ensure_ascii=False))
        assert read_document(tmp_path / "page.json") == json.loads(json.dumps(DOCUMENT))


def test_a_document_that_was_changed_is_named_and_says_how_to_keep_the_change(tmp_path):
    (tmp_path / "page.json").write_text(json.dumps({**seal_document(DOCUMENT), "shots": 4}))
    with pytest.raises(InputError, match=r"page\.json: changed since it was written.*take out its 'checksum'"):
        read_document(tmp_path / "page.json")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_document_is_named(tmp_path, content):
    (tmp_path / "page.json").write_bytes(content)
    with pytest.raises(InputError, match=r"page\.json: not readable"):
        read_document(tmp_path / "page.json")

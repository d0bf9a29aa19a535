import gzip

import pytest

from downloads import FILES, LISTED, Page, beside, contents, inside, sha256, tar, tiny_remote, write
from tripleshot.datasets.download import fetch
from tripleshot.errors import FetchError, InputError


def test_a_folder_url_gives_the_listed_files(server, home):
    for name in LISTED:
        server.pages[f"/raw/{name}"] = Page(FILES[name])
    fetch(tiny_remote(), home, server.url("/raw/"))
    assert contents(home) == {name: FILES[name] for name in LISTED}
    assert beside(home) == []


def test_the_shallowest_folder_with_the_marker_is_the_dataset(server, home):
    server.pages["/tiny"] = Page(tar({"a/b/path_graph": b"wrong"} | inside("z")))
    fetch(tiny_remote(server.url("/tiny")), home)
    assert contents(home) == FILES


def test_refusals_are_listed_with_a_hint_and_not_tried_again(server, home):
    server.pages["/one"] = Page(b"", statuses=[403])
    with pytest.raises(FetchError) as caught:
        fetch(tiny_remote(server.url("/one"), server.url("/two")), home)
    text = str(caught.value)
    assert f"{server.url('/one')} answered 403" in text
    assert f"{server.url('/two')} answered 404" in text
    assert "--from FOLDER, ARCHIVE or URL" in text
    assert len(server.requests) == 2
    assert beside(home) == []


def test_the_next_address_is_tried_when_one_has_rubbish(server, home):
    server.pages["/one"] = Page(b"<html>Sign in</html>", etag=None)
    server.pages["/two"] = Page(tar(inside("tiny")))
    fetch(tiny_remote(server.url("/one"), server.url("/two")), home)
    assert contents(home) == FILES


def test_no_known_address_asks_for_one(home):
    with pytest.raises(FetchError, match=r"no address is known.*--from"):
        fetch(tiny_remote(), home)


def test_a_wrong_archive_hash_names_both_and_removes_the_download(server, home):
    archive = tar(inside("tiny"))
    server.pages["/tiny"] = Page(archive)
    with pytest.raises(FetchError) as caught:
        fetch(tiny_remote(server.url("/tiny"), archive_sha256="0" * 64), home)
    assert sha256(archive) in str(caught.value)
    assert "0" * 64 in str(caught.value)
    assert not home.exists()
    assert beside(home) == []


@pytest.mark.parametrize("as_folder", [True, False])
def test_a_wrong_file_hash_names_the_file_and_removes_the_download(server, home, as_folder):
    write(home, old := {"path_graph": b"old"})
    bad = FILES | {"ent2ids": b"bad"}
    server.pages["/tiny"] = Page(tar(bad))
    server.pages |= {f"/raw/{name}": Page(content) for name, content in bad.items()}
    with pytest.raises(FetchError) as caught:
        fetch(tiny_remote(server.url("/raw/" if as_folder else "/tiny")), home)
    assert f"ent2ids has SHA-256 {sha256(b'bad')}, expected {sha256(FILES['ent2ids'])}" in str(caught.value)
    assert contents(home) == old
    assert "tiny.part" not in beside(home)
    assert "tiny.ent2ids.part" not in beside(home)


def test_from_a_local_folder(tmp_path, home):
    fetch(tiny_remote(), home, str(write(tmp_path / "copies" / "deep").parent))
    assert contents(home) == FILES


def test_from_a_local_folder_that_holds_the_destination(tmp_path):
    write(tmp_path)
    fetch(tiny_remote(), tmp_path / "tiny", str(tmp_path))
    assert contents(tmp_path / "tiny").items() >= FILES.items()


def test_links_to_files_in_a_local_folder_are_copied_as_files(tmp_path, home):
    store = write(tmp_path / "store")
    (tmp_path / "links").mkdir()
    for name in LISTED:
        (tmp_path / "links" / name).symlink_to(store / name)
    fetch(tiny_remote(), home, str(tmp_path / "links"))
    assert contents(home) == {name: FILES[name] for name in LISTED}
    assert not (home / "path_graph").is_symlink()


@pytest.mark.parametrize("as_url", [True, False])
def test_from_a_local_archive(tmp_path, home, as_url):
    archive = tmp_path / "copy of tiny.tgz"
    archive.write_bytes(gzip.compress(tar(inside("other name"))))
    fetch(tiny_remote(archive_sha256="0" * 64), home, archive.as_uri() if as_url else str(archive))
    assert contents(home) == FILES
    assert archive.exists()


def test_a_bad_local_archive_is_named_and_kept(tmp_path, home):
    archive = tmp_path / "tiny.tar.gz"
    archive.write_bytes(gzip.compress(tar(FILES))[:-200])
    with pytest.raises(FetchError, match=r"tiny\.tar\.gz: the archive is damaged"):
        fetch(tiny_remote(), home, str(archive))
    assert archive.exists()
    assert beside(home) == []


@pytest.mark.parametrize("source", ["ftp://host/x", "nowhere", "file:///nowhere", "http://[", "s3://x/y", "http:///x"])
def test_a_source_that_cannot_be_is_an_input_error(home, source):
    with pytest.raises(InputError, match=r"nowhere|address"):
        fetch(tiny_remote(), home, source)


def test_without_the_marker_the_error_names_it(server, home):
    server.pages["/tiny"] = Page(tar({"tiny/ent2ids": b"{}"}))
    with pytest.raises(FetchError, match="no folder in it holds the file path_graph"):
        fetch(tiny_remote(server.url("/tiny")), home)
    assert beside(home) == []

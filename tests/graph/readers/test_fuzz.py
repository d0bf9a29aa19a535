import contextlib
import gzip
import io
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damage import EDITS, mutated
from tripleshot.errors import InputError, InputWarning
from tripleshot.graph.readers import read_graph


def as_parquet():
    content = io.BytesIO()
    pq.write_table(pa.table({"head": ["a", "b"], "relation": ["r", "s"], "tail": ["b", "c"]}), content)
    return content.getvalue()


TSV = 'Ada\tknows\tCharles\r\n\nÉmilie\twrote\t"Lois"\nAda\tknows\tCharles\n'.encode()
VALID = {
    "graph.tsv": TSV,
    "graph.csv": b'head,relation,tail\n"a ""b""\n",r,c\n1,2,3\n',
    "graph.txt": b"a;r;b\nb;r;c\n",
    "path_graph": TSV,
    "graph.tsv.gz": gzip.compress(TSV),
    "graph.tsv.zst": pa.Codec("zstd").compress(TSV, asbytes=True),
    "graph.parquet": as_parquet(),
    "graph.nt": b'<e:a> <e:r> <e:b> .\n_:b <e:r> "text"@en .\n',
    "graph.nt.gz": gzip.compress(b"<e:a> <e:r> <e:b> .\n"),
    "graph.ttl": b'@prefix : <http://e/> .\n:a a :b ; :r [ :s 1, "x" ] .\n',
    "graph.nq": b"<e:a> <e:r> <e:b> <e:g> .\n",
    "graph.rdf": b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
    b'<rdf:Description rdf:about="http://e/a"><e:r rdf:resource="http://e/b"/></rdf:Description></rdf:RDF>',
    "graph.jsonld": b'{"@id": "http://e/a", "http://e/r": {"@id": "http://e/b"}}',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def read_or_refuse(path, content):
    path.write_bytes(content)
    with warnings.catch_warnings(), contextlib.suppress(InputError):
        warnings.simplefilter("ignore", InputWarning)
        read_graph(path)


@pytest.mark.parametrize("name", VALID)
@settings(deadline=None, max_examples=100)
@given(content=st.binary(max_size=200))
def test_no_bytes_raise_anything_but_an_input_error(folder, name, content):
    read_or_refuse(folder / name, content)


@pytest.mark.parametrize("name", VALID)
@settings(deadline=None, max_examples=100)
@given(edits=EDITS)
def test_no_damage_to_a_valid_file_raises_anything_but_an_input_error(folder, name, edits):
    read_or_refuse(folder / name, mutated(VALID[name], edits))


@pytest.mark.parametrize("name", VALID)
def test_the_files_that_are_damaged_are_valid(folder, name):
    path = folder / name
    path.write_bytes(VALID[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        assert read_graph(path).num_triples >= 1

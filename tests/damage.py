"""Files of every format that is read, and damage to the content of files."""

import gzip
import io

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st


def as_parquet() -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.table({"head": ["a", "b"], "relation": ["r", "s"], "tail": ["b", "c"]}), content)
    return content.getvalue()


TSV = 'Ada\tknows\tCharles\r\n\nÉmilie\twrote\t"Lois"\nAda\tknows\tCharles\n'.encode()
GRAPH_FILES = {
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
EDITS = st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=3), st.integers(0, 4)), min_size=1, max_size=4)


def mutated(content: bytes, edits: list[tuple[int, bytes, int]]) -> bytes:
    """Replace up to four bytes by up to three others, at each of a few places."""
    for place, inserted, num_removed in edits:
        place %= len(content) + 1
        content = content[:place] + inserted + content[place + num_removed :]
    return content


def flipped(content: bytes, place: int) -> bytes:
    """Return the content with one bit changed."""
    byte, bit = divmod(place % (8 * len(content)), 8)
    return content[:byte] + bytes([content[byte] ^ 1 << bit]) + content[byte + 1 :]

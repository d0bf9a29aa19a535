"""The notebooks of the documentation: run them, keep what they show, and write them as pages of the site.

    python scripts/notebooks.py    # runs every notebook again and keeps its outputs

The cells of a notebook run in this process, as a notebook runs them: what the last line of a cell gives is shown, as
HTML where it has some, with what was printed and drawn before. The graph that a notebook fetches is served from this
machine: a made-up sample with the columns of the real one.
"""

import ast
import base64
import gzip
import io
import json
import os
import random
import sys
import tempfile
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
SOURCE = "HETIONET"  # the variable that says where the graph of the last notebook is fetched from
FILES = ("hetionet-v1.0-edges.sif.gz", "hetionet-v1.0-nodes.tsv")

Notebook = dict[str, Any]
Output = dict[str, Any]


def notebooks() -> list[Path]:
    """Return all notebooks, in the order of their names."""
    return sorted(FOLDER.glob("*.ipynb"))


def read_notebook(path: Path) -> Notebook:
    """Read a notebook."""
    return json.loads(path.read_text(encoding="utf-8"))


def source_of(cell: dict[str, Any]) -> str:
    """Return the text of a cell."""
    return "".join(cell["source"])


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    """Return the cells that are run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


class Runner:
    """Runs cells one after the other in one namespace, and keeps what each shows."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.outputs: list[Output] = []

    def run(self, source: str) -> list[Output]:
        """Run a cell and return its outputs."""
        self.outputs = []
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(tree, "cell", "exec"), self.namespace)
            value = None
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), self.namespace)
        if printed.getvalue():
            self.outputs.insert(0, {"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
        self._take_figures()
        if value is not None and type(value).__module__.partition(".")[0] != "matplotlib":
            self.outputs.append({"output_type": "execute_result", "execution_count": None, **_content(value)})
        return self.outputs

    def display(self, value: Any, display_id: bool = False) -> "Display":  # noqa: ANN401 (as IPython's)
        """Show something in the middle of a cell, in place of IPython's function of this name."""
        output = {"output_type": "display_data", **_content(value)}
        self.outputs.append(output)
        return Display(output)

    def _take_figures(self) -> None:
        """Show the figures that were drawn, and close them."""
        if "matplotlib.pyplot" not in sys.modules:
            return
        import matplotlib.pyplot as plt

        for number in plt.get_fignums():
            drawn = io.BytesIO()
            plt.figure(number).savefig(drawn, format="png", dpi=100, bbox_inches="tight", metadata={"Software": None})
            picture = base64.b64encode(drawn.getvalue()).decode()
            data = {"image/png": picture, "text/plain": ["<Figure>"]}
            self.outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
            plt.close(number)


class Display:
    """What was shown, to be replaced by something newer."""

    def __init__(self, output: Output) -> None:
        self.output = output

    def update(self, value: Any) -> None:  # noqa: ANN401 (as IPython's)
        """Show something else in the same place."""
        self.output.update(_content(value))


class Markup:
    """HTML as an object, in place of IPython's."""

    def __init__(self, data: str) -> None:
        self.data = data

    def __repr__(self) -> str:
        return "<IPython.core.display.HTML object>"

    def _repr_html_(self) -> str:
        return self.data


def run_notebook(notebook: Notebook) -> list[list[Output]]:
    """Run all cells in the present folder, and return the outputs of each."""
    import matplotlib as mpl

    runner = Runner()
    module = types.ModuleType("IPython.display")
    module.__dict__.update(display=runner.display, HTML=Markup)
    parent = types.ModuleType("IPython")
    parent.__dict__.update(get_ipython=lambda: None, version_info=(9, 0))  # matplotlib asks for them
    parent.__spec__ = types.SimpleNamespace(name="IPython")  # pyrefly: ignore
    before = {name: sys.modules.get(name) for name in ("IPython", "IPython.display")}
    sys.modules.update({"IPython": parent, "IPython.display": module})
    try:
        with mpl.rc_context({"backend": "agg"}):
            return [runner.run(source_of(cell)) for cell in code_cells(notebook)]
    finally:
        for name, found in before.items():
            if found is None:
                del sys.modules[name]
            else:
                sys.modules[name] = found


def write_outputs(path: Path, notebook: Notebook, outputs: list[list[Output]]) -> None:
    """Keep the outputs in a notebook."""
    for number, (cell, found) in enumerate(zip(code_cells(notebook), outputs, strict=True), 1):
        cell["execution_count"] = number
        cell["outputs"] = [{**one, "execution_count": number} if "execution_count" in one else one for one in found]
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def page_of(notebook: Notebook) -> str:
    """Return a notebook as a page in Markdown: texts, code, and what was shown when it was last run."""
    parts = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append(source_of(cell))
            continue
        parts.append(f"```python\n{source_of(cell)}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _shown(output: Output) -> str:
    data = output.get("data", {"text/plain": output.get("text", [])})
    if "text/html" in data:
        inner = " ".join("".join(data["text/html"]).split("\n"))
    elif "image/png" in data:
        inner = f'<img alt="what the code above draws" src="data:image/png;base64,{"".join(data["image/png"])}">'
    else:
        return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"
    return f'<div class="notebook-output">{inner}</div>'


def _content(value: Any) -> Output:  # noqa: ANN401 (whatever a cell gives)
    data = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = _lines(value._repr_html_())
    return {"data": data, "metadata": {}}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def write_sample(folder: Path) -> None:
    """Write a made-up graph in the two files of Hetionet, with its columns: no name in it is of a real compound.

    A compound binds genes, a disease is associated with genes, and compounds treat diseases whose genes they bind.
    """
    rng = random.Random(0)
    compounds, diseases, genes = range(120), range(12), range(60)
    nodes = [(f"Compound::X{one:03}", f"made-up compound {one}", "Compound") for one in compounds]
    nodes += [(f"Disease::X{one:02}", f"made-up disease {one}", "Disease") for one in diseases]
    nodes += [(f"Gene::X{one:02}", f"made-up gene {one}", "Gene") for one in genes]
    edges = [
        (f"Disease::X{one:02}", "DaG", f"Gene::X{gene:02}") for one in diseases for gene in range(5 * one, 5 * one + 5)
    ]
    for one in compounds:
        disease = one % len(diseases)
        bound = {*rng.sample(range(5 * disease, 5 * disease + 5), 2), rng.randrange(len(genes))}
        edges += [(f"Compound::X{one:03}", "CbG", f"Gene::X{gene:02}") for gene in sorted(bound)]
        edges.append((f"Compound::X{one:03}", "CtD", f"Disease::X{disease:02}"))
        edges.append((f"Compound::X{one:03}", "CrC", f"Compound::X{rng.randrange(len(compounds)):03}"))
    edges += [(f"Gene::X{one:02}", "GiG", f"Gene::X{rng.randrange(len(genes)):02}") for one in genes]
    rows = {
        FILES[0]: [("source", "metaedge", "target"), *dict.fromkeys(edges)],
        FILES[1]: [("id", "name", "kind"), *nodes],
    }
    for name, table in rows.items():
        content = "".join("\t".join(row) + "\n" for row in table).encode()
        (folder / name).write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: ANN401 (as the class above has them)
        """Say nothing."""


@contextmanager
def sample_server() -> Iterator[None]:
    """Serve the made-up graph on this machine while the last notebook runs."""
    with tempfile.TemporaryDirectory() as folder:
        write_sample(Path(folder))
        handler = partial(QuietHandler, directory=folder)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            before = os.environ.get(SOURCE)
            os.environ[SOURCE] = f"http://127.0.0.1:{server.server_port}"
            try:
                yield
            finally:
                os.environ.pop(SOURCE)
                if before is not None:
                    os.environ[SOURCE] = before
                server.shutdown()


def main() -> None:
    """Run every notebook in an empty folder, and keep its outputs."""
    here = Path.cwd()
    for path in notebooks():
        with tempfile.TemporaryDirectory() as folder, sample_server():
            os.chdir(folder)
            notebook = read_notebook(path)
            write_outputs(path, notebook, run_notebook(notebook))
            os.chdir(here)
        print(path)


if __name__ == "__main__":
    main()

"""`tripleshot train`."""

from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from tripleshot.answering.models import progress_of, start_with, train
from tripleshot.cli.display import hint, training_display
from tripleshot.cli.options import choose_settings, overrides_of, use_threads
from tripleshot.datasets.catalog import load_dataset
from tripleshot.errors import InputError
from tripleshot.methods import find_method, find_methods
from tripleshot.training.budget import read_budget
from tripleshot.training.distributed import process_group, rank
from tripleshot.training.tracking import following

Overrides = overrides_of({name: entry.settings for name, entry in find_methods().items() if entry.learns})
AS_THEY_ARE = Overrides()


def train_command(
    *places: str,
    method: str = "evidence-net",
    shots: PositiveInt = 5,
    preset: str = "fast",
    config: Path | None = None,
    start: Annotated[str | None, Parameter(name="--from")] = None,
    settings: Annotated[Overrides, Parameter(name="*")] = AS_THEY_ARE,  # pyrefly: ignore
    budget: timedelta | None = None,
    with_graph: Annotated[bool, Parameter(negative=())] = False,
    resume: Annotated[bool, Parameter(negative=())] = False,
    track: Annotated[list[str] | None, Parameter(negative=())] = None,
    plot: bool | None = None,
    device: str = "cpu",
    threads: PositiveInt | None = None,
) -> None:
    """Train a method: `tripleshot train DATA RUN` keeps the weights that were best on the valid tasks in RUN.

    `tripleshot train DATA DATA ... RUN` trains evidence-net on several graphs together, to serve any other; weights of
    that kind come with the package, and `tripleshot ask my.tsv` answers by them. Ctrl-C saves and stops; --resume goes
    on to the same result. To train in N processes: `torchrun --nproc-per-node N -m tripleshot train DATA RUN`.

    Parameters
    ----------
    places
        DATA and RUN. DATA is a dataset of the catalog, a folder or a file of triples; or several. RUN is the folder to
        write: config.json, vocabulary.arrow, weights.safetensors, log.jsonl, a checkpoint and, once it is trained,
        calibration.json, which turns scores into confidence.
    method
        What to train: our own unless you say otherwise, `rscl` for the paper's; `tripleshot methods` lists them. One
        that does not learn makes a run, too, that can be asked.
    shots
        K, the number of examples per relation.
    preset
        Where settings start from: `fast` for two CPU cores; RSCL also has `paper` and `wiki-one`, as published.
    config
        A TOML file with settings in place of the preset's.
    start
        What evidence-net starts from: `universal`, the weights that come with the package (the default for one graph),
        `scratch`, or the folder of a run. It never ends worse on the valid tasks than it began.
    settings
        Single settings in place of the preset's and the file's.
    budget
        Time to be ready in, such as 20m or 1h30m, in place of a number of steps, counted from when DATA has been read:
        preparing, steps, validations, checkpoints and calibration. The learning rate, validations and patience follow
        the share of it that is used, and validations and calibration ask less where they would take too long.
    with_graph
        Keep the graph in RUN, too, so that the folder can be given away. Without it RUN keeps where DATA is.
    resume
        Go on with the run in RUN, with the time that it had left.
    track
        Who follows the training, too: `tensorboard:FOLDER` or `wandb:PROJECT`; may be given several times. One that
        fails is left out, and the training goes on.
    plot
        Draw the loss and the valid MRR while training. By default on a terminal that has room for them.
    device
        cpu, cuda, cuda:1, mps, ...
    threads
        CPU threads; one makes a run repeatable to the bit.
    """
    use_threads(threads)
    if len(places) < 2:
        raise InputError("say what to train on and where to keep it: tripleshot train DATA RUN")
    *sources, folder = places
    data, run = sources[0], Path(folder)
    entry, chosen = find_method(method), None
    if entry.learns and not resume:
        chosen = asdict(choose_settings(entry.preset(preset), config, settings, method))
    if len(sources) > 1:
        _train_on_several(sources, run, method, chosen, start, shots, budget, resume, track, plot, device)
        return
    with process_group(device), training_display(plot) as display:
        about = {
            "shots": shots,
            "preset": preset,
            "settings": chosen,
            "budget": budget,
            "device": device,
            "start": start,
        }
        kept = {"folder": run, "with_graph": with_graph, "resume": resume}
        model = train(method, data, **about, **kept, callback=display, track=track)
        if rank() != 0:
            return
    if find_method(model.name).learns:
        hint(f"trained; try: tripleshot evaluate {data} --run {run}")
    else:
        hint(f"{model.name} needs no training; try: tripleshot ask {run} --help")


def _train_on_several(
    sources: list[str],
    run: Path,
    method: str,
    settings: dict[str, Any] | None,
    start: str | None,
    shots: int,
    budget: timedelta | None,
    resume: bool,
    track: list[str] | None,
    plot: bool | None,
    device: str,
) -> None:
    """Train the network of evidence-net on several graphs together."""
    from tripleshot.methods.evidence.settings import EvidenceNetSettings
    from tripleshot.training.mixture import train_mixture

    if method != "evidence-net":
        raise InputError(f"{method} learns from one graph: only evidence-net knows no names and learns from several")
    chosen = EvidenceNetSettings(**start_with(method, settings or {}, start or "scratch")) if not resume else None
    datasets = [load_dataset(source) for source in sources]
    known = {"method": method, "datasets": sources, "shots": shots, **asdict(chosen or EvidenceNetSettings())}
    with training_display(plot) as display, following(track, display, known, run) as callback:
        about = {
            "resume": resume,
            "budget": read_budget(budget),
            "device": device,
            "callback": callback,
            "progress": progress_of(display),
        }
        train_mixture(datasets, run, chosen or EvidenceNetSettings(), shots, **about)
    hint(f"trained; try: tripleshot evaluate {sources[0]} --run {run}, or tripleshot ask {run} --data my-graph.tsv")

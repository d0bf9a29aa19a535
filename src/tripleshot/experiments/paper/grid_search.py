"""The paper's grid search: one training per point of a grid, judged on dev; finished points are kept in SQLite."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

from tripleshot.datasets.dataset import FewShotDataset
from tripleshot.errors import InputError, did_you_mean
from tripleshot.experiments.cells import Cell, Plan, Reporter, train_cell
from tripleshot.experiments.paper.report import Missing, Report, Table, format_value
from tripleshot.experiments.variants import JOINT, LAMBDAS, Variant, read_value
from tripleshot.methods.rscl.settings import RSCLSettings

GRID: dict[str, tuple[Any, ...]] = {"dropout": (0.3, 0.2), "global_share": LAMBDAS}
"""The values that the paper names: two rates of dropout, and the values of lambda in its figure."""

STUDY = "search.sqlite"
NAME, TITLE = "search", "Grid search on dev"


def read_grid(lines: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """Read a grid from SETTING=VALUE,VALUE lines; without lines it is the paper's grid."""
    hints = get_type_hints(RSCLSettings)
    grid = {}
    for line in lines:
        name, equals, values = line.partition("=")
        if name not in hints or not equals:
            raise InputError(f"--grid {line}: give SETTING=VALUE,VALUE{did_you_mean(name, list(hints))}")
        grid[name] = tuple(dict.fromkeys(read_value(name, value.strip(), hints[name]) for value in values.split(",")))
    return grid or dict(GRID)


def variant_at(point: Mapping[str, Any]) -> str:
    """Return the variant of RSCL at a point of the grid."""
    return JOINT.join(f"{name}={str(value).lower()}" for name, value in point.items())


def search_rscl(
    plan: Plan, grid: Mapping[str, Sequence[Any]], dataset: FewShotDataset, reporter: Reporter, limit: int | None = None
) -> list[tuple[dict[str, Any], float]]:
    """Train RSCL at the points of a grid, each as a plan says, and return those that are measured, the best first.

    Args:
        plan: how to train; runs and the study are kept in the folder `search` below its own.
        grid: setting to the values to try.
        dataset: the test tasks are never asked.
        reporter: shows how far it is.
        limit: how many points to measure now; None measures all that are left.
    """
    plan, shots = replace(plan, out=plan.out / NAME), plan.shots[0]
    if not dataset.valid:
        raise InputError(f"{dataset.name} has no valid tasks to choose on")

    def measure(point: dict[str, Any]) -> float:
        cell = Cell("rscl", shots, 0, str(Variant.read(f"rscl@{variant_at(point)}").name))
        best = train_cell(plan, cell, dataset, reporter)[1]["best"]
        if best is None:
            raise InputError(f"{cell.label} takes no step that could be judged")
        return best["valid_mrr"]

    name = f"{shots}-shot, {plan.budget:g} s, {plan.preset}, {dict(grid)}"
    return search(grid, measure, plan.out / STUDY, name, limit)


def search(
    grid: Mapping[str, Sequence[Any]],
    measure: Callable[[dict[str, Any]], float],
    path: Path,
    name: str,
    limit: int | None = None,
) -> list[tuple[dict[str, Any], float]]:
    """Measure points of a grid that are not measured yet, and return all measured ones, the best first.

    Args:
        grid: setting to the values to try.
        measure: trains at a point and returns its dev MRR; an interrupted point is measured by the next call.
        path: the SQLite file of the study.
        name: of the study; another grid or budget is another study.
        limit: how many points to measure now; None measures all that are left.
    """
    optuna = _optuna()
    path.parent.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        storage=f"sqlite:///{path.resolve()}",
        sampler=optuna.samplers.GridSampler(grid, seed=0),
        study_name=name,
        direction="maximize",
        load_if_exists=True,
    )
    names, size = set(grid), _size(grid)
    left = min(size - len(_measured(optuna, study, names)), size if limit is None else limit)
    for _ in range(left):
        number, point = _next_point(optuna, study, grid)
        value = measure(point)
        with suppress(RuntimeError):  # after the last point the sampler tries to stop optuna's own loop
            study.tell(number, value)
    return sorted(_measured(optuna, study, names), key=lambda pair: -pair[1])


def _optuna() -> Any:  # noqa: ANN401 (an extra)
    try:
        import optuna
    except ImportError:
        raise InputError("the grid search needs optuna: pip install 'tripleshot[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _next_point(optuna: Any, study: Any, grid: Mapping[str, Sequence[Any]]) -> tuple[int, dict[str, Any]]:  # noqa: ANN401
    """Return a point that was started and not finished, or else a new one."""
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        if trial.params.keys() == grid.keys():
            return trial.number, dict(trial.params)
    trial = study.ask()
    return trial.number, {name: trial.suggest_categorical(name, list(values)) for name, values in grid.items()}


def _measured(optuna: Any, study: Any, names: set[str]) -> list[tuple[dict[str, Any], float]]:  # noqa: ANN401
    trials = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    return [(dict(trial.params), trial.value) for trial in trials if trial.params.keys() == names]


def _size(grid: Mapping[str, Sequence[Any]]) -> int:
    size = 1
    for values in grid.values():
        size *= len(values)
    return size


def search_report(
    found: Sequence[tuple[dict[str, Any], float]], grid: Mapping[str, Sequence[Any]], command: str
) -> Report:
    """Make the table of points, the highest dev MRR first."""
    names = tuple(grid)
    rows = tuple((*(str(point[name]) for name in names), format_value(value)) for point, value in found)
    left = _size(grid) - len(found)
    text = (
        "RSCL at each point of a grid, trained for the same time and judged on dev. The paper names few of the values "
        f"it tried: dropout .3 and .2, and lambda in its figure. {len(found)} of {_size(grid)} points are measured."
    )
    return Report(
        NAME,
        TITLE,
        (text,),
        (Table("dev MRR", (*names, "dev MRR"), rows),) if rows else (),
        missing=(Missing((f"{left} of {_size(grid)} points",), command),) if left else (),
        data={
            "grid": {name: list(values) for name, values in grid.items()},
            "points": [{"settings": point, "valid_mrr": value} for point, value in found],
        },
    )

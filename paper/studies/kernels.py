"""What does a step of error feedback cost? Times as multiples of those of e += g, for the paper.

Read from the newest `kernels-*.json` of a processor and of a GPU; a machine that was not measured is said to be so. The
figure has a row of panels for each machine. `paper/kernel_page.py` makes the tables of a page from the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.results import Result, results
from paper.rules import RULES
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, Look, legend_below, new_figure

FLOOR, COPY = "add", "copy"
"""The contenders that only move memory: 12 and 8 bytes an entry."""
_REPLAYED_FLOOR = f"{FLOOR}, replayed"
COPY_BYTES_PER_ENTRY = 8
DENSITY = 0.001
"""The density of the table and of the numbers in the text."""
NOT_MEASURED = "not measured"
RECORDED = "recorded"
"""The name of the steps of a training run."""
CALLS = {"cold": "first call", "warm": "later calls"}
_GAUSSIAN, _TOP_K = RULES["gaussian_k"].name, f"exact {RULES['top_k'].name}"
_DGC, _SIDCO = RULES["dgc_released"].name, RULES["sidco_released"].name

CONTENDERS = {
    **{f"gaussian_k, {call}": f"{_GAUSSIAN}, {words}" for call, words in CALLS.items()},
    **{f"top_k, {call}": f"{_TOP_K}, {words}" for call, words in CALLS.items()},
    "gaussian_k_released": "the released rule",
    "threshold": "a given threshold",
    "chunked_top_k": "chunk-wise Top-$k$",
    **{f"gaussian_k, {call}, replayed": f"{_GAUSSIAN}, {words}, as a graph" for call, words in CALLS.items()},
    **{f"top_k, {call}, replayed": f"{_TOP_K}, {words}, as a graph" for call, words in CALLS.items()},
    "cub::DeviceTopK": r"\texttt{cub::DeviceTopK}",
    "torch.topk, unsorted": r"\texttt{torch.topk}",
    "torch.topk, sorted": r"\texttt{torch.topk}, sorted",
    "chunked_top_k, PyTorch": "chunk-wise Top-$k$ in PyTorch",
    "released, PyTorch": "the released rule in PyTorch",
    "DGC, PyTorch": f"{_DGC} in PyTorch",
    "SIDCo, PyTorch": f"{_SIDCO} in PyTorch",
}
"""Rows of the table, below that of e += g; what a study has besides follows under its own name."""
LOOKS: dict[str, Look] = {
    FLOOR: Look(r"$e \leftarrow e + g$", BLACK),
    "gaussian_k, warm": Look(CONTENDERS["gaussian_k, warm"], GREEN),
    "gaussian_k, cold": Look(CONTENDERS["gaussian_k, cold"], GREEN, (0, (3, 2))),
    "top_k, warm": Look(CONTENDERS["top_k, warm"], SKY),
    "cub::DeviceTopK": Look("cub::DeviceTopK", ORANGE, (0, (1, 1))),
    "torch.topk, unsorted": Look("torch.topk", BLUE, (0, (4, 1.5))),
    "released, PyTorch": Look("released rule, PyTorch", RULES["gaussian_k_released"].colour, (0, (5, 1, 1, 1))),
}
"""How a contender is drawn, where a study has it."""
MODELS = {"resnet50": "ResNet-50", "vgg16": "VGG-16", "lstm": "LSTM"}
_SHOWN_DIMENSION_COUNT = 3
Column = tuple[str, str, int]
"""Name, granularity and dimension of a case."""
LIMIT = "12 bytes an entry"
"""The label of the time that the memory needs at its full rate."""
_ROW_HEIGHT_INCHES = 2.5


def machine(data_folder: Path, device: str) -> Result | None:
    """The newest study on a device, `cpu` or `cuda`, if there is one.

    Raises:
        FileNotFoundError: there is no study of the kernel at all.
    """
    return next(iter(machines(data_folder, device)), None)


def machines(data_folder: Path, device: str) -> list[Result]:
    """The newest study of each processor, or of each GPU, the newest first.

    Raises:
        FileNotFoundError: there is no study of the kernel at all.
    """
    found = [study for study in results(data_folder, "kernels") if study["device"] == device]
    found.sort(key=lambda study: str(study.record("provenance")["date_utc"]), reverse=True)
    newest: dict[str, Result] = {}
    for study in found:
        newest.setdefault(str(study["hardware"]), study)
    return list(newest.values())


def processor(data_folder: Path) -> Result:
    """The newest study on a processor.

    Raises:
        FileNotFoundError: there is none.
    """
    study = machine(data_folder, "cpu")
    if study is None:
        raise FileNotFoundError(f"{data_folder / 'kernels-*.json'} of a processor is missing; `make bench` writes it")
    return study


def rows(
    study: Result, contender: str, *, name: str | None = None, granularity: str = "vector", density: float = DENSITY
) -> list[Result]:
    """The rows of a contender, ascending in d; of all laws, or of those of one name."""
    found = [
        row
        for row in study.records("rows")
        if (row["contender"], row["granularity"], row["density"]) == (contender, granularity, density)
        and name in (None, row["name"])
    ]
    return sorted(found, key=lambda row: int(row["dimension"]))


def largest_row(study: Result, contender: str) -> Result:
    """The row of a contender on the longest Gaussian vector.

    Raises:
        ValueError: the study has none.
    """
    found = rows(study, contender, name="gaussian")
    if not found:
        raise ValueError(f"{study.path}: no row of {contender!r} on a Gaussian vector")
    return found[-1]


def milliseconds(row: Result) -> tuple[float, int]:
    """The best time of a row, and how many digits after the point a table shows of it."""
    best = 1e3 * row["best_seconds"]
    return best, 3 if best < 1 else 1


def bytes_per_second(study: Result) -> float:
    """What the machine's memory moves: in e += g on the longest vector, or in a copy on a GPU."""
    if study["device"] == "cpu":
        row, entry_bytes = largest_row(study, FLOOR), study["bytes_per_entry"]
    else:
        row, entry_bytes = largest_row(study, COPY), COPY_BYTES_PER_ENTRY
    return float(entry_bytes * row["dimension"] / row["best_seconds"])


def row_in(study: Result, contender: str, column: Column) -> Result | None:
    """The row of a contender in a column, if the machine has measured it."""
    name, granularity, dimension = column
    found = rows(study, contender, name=name, granularity=granularity)
    return next((row for row in found if row["dimension"] == dimension), None)


def kernel_table(data_folder: Path) -> str:
    r"""A `tabular` with a block per machine: the time of e += g, and those of all others as multiples of it."""
    studies = {"processor": processor(data_folder), "GPU": machine(data_folder, "cuda")}
    columns = _columns([study for study in studies.values() if study is not None])
    blocks = "\\midrule\n".join(_block(kind, study, columns) for kind, study in studies.items())
    heads = " & ".join(_head(column) for column in columns)
    layout = f"@{{}}l{'r' * len(columns)}@{{}}"
    body = f"\\toprule\n & {heads} \\\\\n\\midrule\n{blocks}\\bottomrule\n"
    return f"\\begin{{tabular}}{{{layout}}}\n{body}\\end{{tabular}}\n"


def kernels(data_folder: Path) -> Figure:
    """Best times on Gaussian vectors at density 0.001, and their speed as a share of the floor's."""
    studies = [processor(data_folder), machine(data_folder, "cuda")]
    measured = [study for study in studies if study is not None]
    profiles = [str(study["profile"]) for study in measured]
    profile = "smoke" if "smoke" in profiles else profiles[0]
    figure = new_figure(_ROW_HEIGHT_INCHES * len(measured) + 0.5, profile=profile)
    panels = figure.subplots(len(measured), 2, squeeze=False, sharex="row")
    for (left, right), study in zip(panels, measured, strict=True):
        _draw_times(left, study)
        _draw_shares(right, study)
        left.set(title=f"{study['hardware']}, density {DENSITY:g}", ylabel="best time in ms")
        right.set(title=r"speed, $e \leftarrow e + g$ being 1")
        right.set_ylim(bottom=0)
    for axes in panels[-1]:
        axes.set_xlabel("$d$")
    legend_below(figure, panels[-1][0], columns=3)
    return figure


def _columns(studies: list[Result]) -> list[Column]:
    """The longest Gaussian vectors of any machine, then every model tensor by tensor."""
    lengths = sorted({int(row["dimension"]) for study in studies for row in rows(study, FLOOR, name="gaussian")})
    vectors: list[Column] = [("gaussian", "vector", length) for length in lengths[-_SHOWN_DIMENSION_COUNT:]]
    models = {
        (str(row["name"]), "tensors", int(row["dimension"]))
        for study in studies
        for row in rows(study, FLOOR, granularity="tensors")
    }
    return vectors + sorted(models, key=lambda column: column[2])


def others(study: Result) -> list[str]:
    """Contenders of a study that have no words of their own."""
    found = dict.fromkeys(str(row["contender"]) for row in study.records("rows"))
    return [contender for contender in found if contender not in (FLOOR, COPY, _REPLAYED_FLOOR, *CONTENDERS)]


def _head(column: Column) -> str:
    name, granularity, dimension = column
    return MODELS.get(name, latex.escape(name)) if granularity == "tensors" else f"$d={latex.scientific(dimension)}$"


def _block(kind: str, study: Result | None, columns: list[Column]) -> str:
    title = f"\\multicolumn{{{len(columns) + 1}}}{{@{{}}l}}{{\\emph{{{kind}}}: "
    if study is None:
        return f"{title}{NOT_MEASURED}}} \\\\\n"
    lines = [f"{title}{latex.escape(study['hardware'])}}}"]
    lines.append(
        _line("$e\\leftarrow e+g$, in ms", study, FLOOR, columns, lambda row: latex.decimal(*milliseconds(row)))
    )
    for contender in (*CONTENDERS, *others(study)):
        words = CONTENDERS.get(contender) or latex.escape(contender)
        line = _line(words, study, contender, columns, lambda row: latex.decimal(row["ratio_to_add"], 2))
        lines += [line] if line.strip(" &") != words else []
    return "".join(f"{line} \\\\\n" for line in lines)


def _line(words: str, study: Result, contender: str, columns: list[Column], show: Callable[[Result], str]) -> str:
    found = [row_in(study, contender, column) for column in columns]
    return " & ".join([words, *("" if row is None else show(row) for row in found)])


def _ratio(data_folder: Path, *, contender: str) -> str:
    """On the longest Gaussian vector."""
    return latex.decimal(largest_row(processor(data_folder), contender)["ratio_to_add"], 2)


def _advantage(data_folder: Path, *, slow: tuple[str, ...], fast: str) -> str:
    """Time of the fastest of some contenders over that of another on the longest Gaussian vector."""
    study = processor(data_folder)
    least = min(float(largest_row(study, name)["best_seconds"]) for name in slow)
    return latex.decimal(least / largest_row(study, fast)["best_seconds"], 0)


def _law_ratios(data_folder: Path, *, contender: str, place: int, choose: Callable[[list[float]], float]) -> str:
    """Over all laws at the shortest (0) or longest (-1) d at which laws besides the Gaussian were drawn."""
    found = _law_rows(processor(data_folder), contender, place)
    return latex.decimal(choose([float(row["ratio_to_add"]) for row in found]), 2)


def _law_dimension(data_folder: Path, *, contender: str, place: int) -> str:
    return latex.integer(_law_rows(processor(data_folder), contender, place)[0]["dimension"])


def _law_rows(study: Result, contender: str, place: int) -> list[Result]:
    drawn = [row for row in rows(study, contender) if row["name"] not in ("gaussian", RECORDED)]
    if not drawn:
        raise ValueError(f"{study.path}: no row of {contender!r} on a law besides the Gaussian")
    dimension = drawn[place]["dimension"]
    return [row for row in rows(study, contender) if row["dimension"] == dimension and row["name"] != RECORDED]


def _recorded_ratio(data_folder: Path) -> str:
    study = processor(data_folder)
    return latex.decimal(rows(study, "gaussian_k, warm", name=RECORDED)[0]["ratio_to_add"], 2)


def one_pass_share(data_folder: Path, *, rule: str = "gaussian_k") -> float:
    """Of the later calls of a rule on vectors of every law, d and training step: the share that reads them once.

    Raises:
        FileNotFoundError: no study on a processor is there, or it counted no passes.
    """
    study = processor(data_folder)
    tallies: list[dict[str, int]] = [row["streaming_passes"] for row in rows(study, f"{rule}, warm")]
    total = sum(sum(tally.values()) for tally in tallies)
    if total == 0:
        raise FileNotFoundError(f"{study.path}: no passes are counted; `make bench` does with the compiled kernel")
    return sum(tally.get("1", 0) for tally in tallies) / total


def _one_pass_percent(data_folder: Path, *, rule: str) -> str:
    try:
        return latex.percent(one_pass_share(data_folder, rule=rule))
    except FileNotFoundError:
        return NOT_MEASURED


def _smallest_recall(data_folder: Path) -> str:
    found = rows(processor(data_folder), "gaussian_k, cold")
    return latex.decimal(min(float(row["recall"]) for row in found), 2)


def _extra_memory(data_folder: Path) -> str:
    shares = [float(row["residual_share"]) for row in processor(data_folder).records("memory")]
    return latex.percent(max(shares)) if shares else NOT_MEASURED


def _of_gpu(data_folder: Path, *, show: Callable[[Result], str]) -> str:
    study = machine(data_folder, "cuda")
    return NOT_MEASURED if study is None else show(study)


def _addition_rate(study: Result) -> str:
    """Gigabytes a second."""
    row = largest_row(study, FLOOR)
    return latex.decimal(study["bytes_per_entry"] * row["dimension"] / row["best_seconds"] / 1e9, 0)


def _by_length(study: Result) -> str:
    """`4.91 at 10^6, 2.37 at …`: later calls of exact Top-k on Gaussian vectors over the addition."""
    long = [row for row in rows(study, "top_k, warm", name="gaussian") if row["dimension"] >= 10**6]
    return ", ".join(f"{latex.decimal(row['ratio_to_add'], 2)} at {latex.scientific(row['dimension'])}" for row in long)


def _share(study: Result, *, above: str, below: str) -> str:
    return latex.decimal(time_ratio(study, above=above, below=below), 2)


def time_ratio(study: Result, *, above: str, below: str) -> float:
    """Time of a contender over that of another, on the longest Gaussian vector."""
    return float(largest_row(study, above)["best_seconds"] / largest_row(study, below)["best_seconds"])


def _draw_times(axes: Axes, study: Result) -> None:
    for contender, look in LOOKS.items():
        found = rows(study, contender, name="gaussian")
        if found:
            dimensions = [row["dimension"] for row in found]
            axes.plot(dimensions, [1e3 * row["best_seconds"] for row in found], marker=".", **look.line)
    dimensions = [row["dimension"] for row in rows(study, FLOOR, name="gaussian")]
    limits = [1e3 * study["bytes_per_entry"] * dimension / bytes_per_second(study) for dimension in dimensions]
    axes.plot(dimensions, limits, label=LIMIT, color=GREY, linestyle=(0, (1, 1)))
    axes.set(xscale="log", yscale="log")


def _draw_shares(axes: Axes, study: Result) -> None:
    for contender, look in LOOKS.items():
        found = rows(study, contender, name="gaussian")
        if found and contender != FLOOR:
            shares = [1 / row["ratio_to_add"] for row in found]
            axes.plot([row["dimension"] for row in found], shares, marker=".", **look.line)


MACROS: dict[str, Macro] = {
    "KernelProcessor": lambda folder: latex.escape(processor(folder)["hardware"]),
    "KernelThreads": lambda folder: latex.integer(processor(folder)["thread_count"]),
    "KernelProfile": lambda folder: latex.escape(processor(folder)["profile"]),
    "KernelGpu": partial(_of_gpu, show=lambda study: latex.escape(study["hardware"])),
    "KernelGpuDimension": partial(_of_gpu, show=lambda study: latex.scientific(largest_row(study, FLOOR)["dimension"])),
    "KernelGpuRate": partial(_of_gpu, show=_addition_rate),
    **{
        f"KernelGpu{name}": partial(_of_gpu, show=partial(_share, above=above, below=below))
        for name, above, below in (
            ("ColdRatio", "gaussian_k, cold", FLOOR),
            ("WarmRatio", "gaussian_k, warm", FLOOR),
            ("WarmTopkRatio", "top_k, warm", FLOOR),
            ("ColdTopkRatio", "top_k, cold", FLOOR),
            ("ThresholdRatio", "threshold", FLOOR),
            ("TopkAdvantage", "torch.topk, unsorted", "top_k, warm"),
            ("ReleasedAdvantage", "released, PyTorch", "gaussian_k, warm"),
        )
    },
    "KernelDensity": lambda _folder: latex.shortest(DENSITY),
    "KernelLargestDimension": lambda folder: latex.integer(largest_row(processor(folder), FLOOR)["dimension"]),
    "KernelRate": lambda folder: latex.decimal(bytes_per_second(processor(folder)) / 1e9, 0),
    "KernelColdRatio": partial(_ratio, contender="gaussian_k, cold"),
    "KernelWarmRatio": partial(_ratio, contender="gaussian_k, warm"),
    "KernelColdTopkRatio": partial(_ratio, contender="top_k, cold"),
    "KernelThresholdRatio": partial(_ratio, contender="threshold"),
    "KernelGpuTopkByLength": partial(_of_gpu, show=_by_length),
    "KernelWarmTopkRatio": partial(_ratio, contender="top_k, warm"),
    "KernelTopkAdvantage": partial(_advantage, slow=("torch.topk, sorted", "torch.topk, unsorted"), fast="top_k, warm"),
    "KernelReleasedAdvantage": partial(_advantage, slow=("released, PyTorch",), fast="gaussian_k, warm"),
    "KernelDgcAdvantage": partial(_advantage, slow=("DGC, PyTorch",), fast="gaussian_k, warm"),
    "KernelSidcoAdvantage": partial(_advantage, slow=("SIDCo, PyTorch",), fast="gaussian_k, warm"),
    **{
        f"Kernel{word}{extreme}": partial(_law_ratios, contender="gaussian_k, warm", place=place, choose=choose)
        for word, place in {"Laws": -1, "ShortLaws": 0}.items()
        for extreme, choose in {"Smallest": min, "Largest": max}.items()
    },
    "KernelLawsDimension": partial(_law_dimension, contender="gaussian_k, warm", place=-1),
    "KernelShortLawsDimension": partial(_law_dimension, contender="gaussian_k, warm", place=0),
    "KernelRecordedRatio": _recorded_ratio,
    "KernelOnePassShare": partial(_one_pass_percent, rule="gaussian_k"),
    "KernelTopkOnePassShare": partial(_one_pass_percent, rule="top_k"),
    "KernelSmallestRecall": _smallest_recall,
    "KernelExtraMemory": _extra_memory,
}

STUDY = Study(
    macros=MACROS, figures={"kernels": kernels}, tables={"kernels.tex": kernel_table}, results=("kernels", "wire")
)

"""What `feedback_select` refuses, before anything has changed; and how it behaves under torch's own machinery."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from sparsync.kernels import call_plan, native_build
from sparsync.kernels.native import Rule, SelectionState, feedback_select, feedback_select_many
from sparsync.kernels.payload import SparsePayload
from tests.support.stand_ins.forked import run_forked

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
OVERLAPPING = torch.zeros(12)
REQUIRES_GRADIENT = torch.zeros(4, requires_grad=True)

Arguments = dict[str, Any]


def sample(*, length: int = 1000, seed: int = 1) -> Tensor:
    return torch.randn(length, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k": 0}, "1 <= k <= d = 4, got 0"),
        ({"k": 5}, "1 <= k <= d = 4, got 5"),
        ({"k": True}, "got True"),
        ({"k": 1.0}, "got 1.0"),
        ({"rule": "topk"}, "unknown rule 'topk'; known: top_k, gaussian_k, gaussian_k_released, threshold, "),
        ({"rule": "threshold"}, "got None"),
        ({"rule": "threshold", "threshold": -0.5}, "got -0.5"),
        ({"rule": "threshold", "threshold": math.nan}, "got nan"),
        ({"rule": "threshold", "threshold": math.inf}, "got inf"),
        ({"rule": "top_k", "threshold": 0.5}, "rule 'top_k' takes no threshold, got 0.5"),
        ({"rule": "top_k", "threshold": 0.0}, "rule 'top_k' takes no threshold, got 0.0"),
        ({"capacity": 0}, "at least 1, got 0"),
        ({"capacity": 2.0}, "at least 1, got 2.0"),
        ({"gradient": None}, "gradient 0 must be a tensor, got NoneType; give zeros"),
        ({"gradient": torch.ones(4).to_sparse()}, "gradient 0 must be dense, got torch.sparse_coo"),
        ({"state": {}}, r"state must be a SelectionState or None, got \{\}"),
        ({"gradient": torch.zeros(3)}, r"got shapes \(3,\) and \(4,\)"),
        ({"gradient": torch.zeros(2, 2), "residual": torch.zeros(2, 2)}, r"got shapes \(2, 2\) and \(2, 2\)"),
        ({"gradient": torch.zeros(4, dtype=torch.int32)}, "float32 cannot take a gradient of torch.int32"),
        ({"gradient": torch.zeros(4, dtype=torch.float64)}, "float32 cannot take a gradient of torch.float64"),
        ({"residual": torch.zeros(4, dtype=torch.bfloat16)}, "bfloat16 cannot take a gradient of torch.float32"),
        ({"gradient": torch.zeros(8)[::2]}, r"contiguous, got strides \(\(2,\), \(1,\)\)"),
        ({"residual": torch.zeros(8)[::2]}, r"contiguous, got strides \(\(1,\), \(2,\)\)"),
        ({"gradient": torch.zeros(4, device="meta")}, "gradient 0 is on meta, residual 0 on cpu"),
        ({"residual": REQUIRES_GRADIENT}, "0 requires a gradient"),
        ({"gradient": REQUIRES_GRADIENT}, "0 requires a gradient"),
        ({"gradient": OVERLAPPING[:4], "residual": OVERLAPPING[3:7]}, "residual 0 shares memory with gradient 0"),
        ({"gradient": OVERLAPPING[3:7], "residual": OVERLAPPING[:4]}, "gradient 0 shares memory"),
        ({"gradient": OVERLAPPING[:4], "residual": OVERLAPPING[:4]}, "shares memory"),
    ],
)
def test_a_call_that_cannot_be_served_is_refused(changed: Arguments, message: str) -> None:
    arguments: Arguments = {"gradient": torch.ones(4), "residual": torch.ones(4), "k": 2, **changed}
    before = arguments["residual"].clone()
    with pytest.raises(ValueError, match=message):
        feedback_select(**arguments)
    assert torch.equal(arguments["residual"], before)


def test_tensors_without_data_are_refused() -> None:
    with pytest.raises(ValueError, match="on the device meta"):
        feedback_select(torch.zeros(4, device="meta"), torch.zeros(4, device="meta"), 2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ks": [1]}, "expected one count or 2, got 1"),
        ({"ks": 2.0}, "ks must be an int or a sequence of ints, got 2.0"),
        ({"ks": [1, 4]}, "1 <= k <= d = 3, got 4"),
        ({"ks": 8}, "1 <= k <= d = 7, got 8"),
        ({"gradients": [torch.ones(4)]}, "got 1 and 2"),
        ({"gradients": [torch.ones(4), None]}, "gradient 1 must be a tensor, got NoneType; give zeros"),
        ({"gradients": [], "residuals": [], "ks": []}, "got 0 and 0"),
        ({"gradients": [], "residuals": [], "ks": 1}, "got 0 and 0"),
        ({"gradients": [torch.ones(4), torch.ones(3).bfloat16()]}, "gradient and residual 1 are torch.bfloat16"),
        ({"residuals": [torch.ones(4), torch.ones(3).double()]}, "1 are torch.float32 and torch.float64"),
        ({"rule": "threshold", "thresholds": [1.0]}, "thresholds must be one number or 2, got 1"),
        ({"rule": "threshold", "thresholds": [1.0, -1.0]}, "got -1.0"),
        ({"capacity": [1, 2, 3]}, "capacity must be one number or 2, got 3"),
        ({"capacity": [1, 0]}, "at least 1, got 0"),
        ({"capacity": torch.tensor(1)}, r"capacity must be an int, a float or a sequence of them, got tensor\(1\)"),
        ({"residuals": [OVERLAPPING[:4], OVERLAPPING[3:6]]}, "residual 1 shares memory with residual 0"),
        ({"residuals": [OVERLAPPING[3:7], OVERLAPPING[1:4]]}, "residual 0 shares memory with residual 1"),
        (
            {"gradients": [torch.ones(4), OVERLAPPING[9:]], "residuals": [torch.ones(4), OVERLAPPING[8:11]]},
            "gradient 1 shares memory with residual 1",
        ),
        (
            {"gradients": [OVERLAPPING[:6], OVERLAPPING[1:3]], "residuals": [torch.ones(6), OVERLAPPING[4:6]]},
            "residual 1 shares memory with gradient 0",
        ),
    ],
)
def test_a_call_for_many_that_cannot_be_served_is_refused(changed: Arguments, message: str) -> None:
    arguments: Arguments = {
        "gradients": [torch.ones(4), torch.ones(3)],
        "residuals": [torch.ones(4), torch.ones(3)],
        "ks": [2, 1],
        **changed,
    }
    before = [residual.clone() for residual in arguments["residuals"]]
    with pytest.raises(ValueError, match=message):
        feedback_select_many(**arguments)
    assert all(torch.equal(left, right) for left, right in zip(arguments["residuals"], before, strict=True))


def test_tensors_without_memory_of_their_own_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no memory of its own, as under torch\.func\.vmap"):
        torch.func.vmap(lambda gradient: feedback_select(gradient, torch.zeros(4), 2).padded()[0])(torch.ones(3, 4))


def test_a_residual_on_another_device_than_the_first_is_refused() -> None:
    residuals = [torch.ones(4), torch.ones(3, device="meta")]
    with pytest.raises(ValueError, match="residual 1 on meta, the first residual on cpu"):
        feedback_select_many([torch.ones(4), torch.ones(3)], residuals, [2, 1])
    assert residuals[0].tolist() == [1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_neighbours_in_memory_and_gradients_that_overlap_are_served(dtype: torch.dtype) -> None:
    """Only float32 residuals have a native op."""
    memory, gradient = torch.zeros(12, dtype=dtype), torch.ones(6, dtype=dtype)
    residuals = [memory[:4], memory[4:8], memory[2:2]]
    payload = feedback_select_many([gradient[:4], gradient[2:], memory[6:6]], residuals, 8, rule="top_k")
    assert payload.count == 8


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_half_precision_gradient_may_end_where_its_residual_begins(dtype: torch.dtype) -> None:
    memory = torch.zeros(8, dtype=dtype)
    halves, residual, begin = memory.view(torch.bfloat16), memory[4:], 2 * dtype.itemsize
    halves[begin - 4 : begin] = 1.0
    assert feedback_select(halves[begin - 4 : begin], residual, 2, rule="top_k").values.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="0 shares memory"):
        feedback_select(halves[begin - 3 : begin + 1], residual, 2, rule="top_k")


@needs_compiler
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gradients": []}, "as many gradients as residuals and at least one, got 0 and 2"),
        ({"gradients": [torch.ones(4)]}, "as many gradients as residuals and at least one, got 1 and 2"),
        ({"counts": [0, 1]}, "group 0: k must satisfy 1 <= k <= d = 4, got 0"),
        ({"counts": [2, 4]}, "group 1: k must satisfy 1 <= k <= d = 3, got 4"),
        ({"counts": [1, 1, 1]}, "expected 1 or 2 counts, got 3"),
        ({"rule": -1}, "unknown rule -1"),
        ({"rule": 5}, "unknown rule 5"),
        ({"parameters": [0.0]}, "must have one length"),
        ({"capacities": [2]}, "must have one length"),
        ({"capacities": [-1, 1]}, r"group 0: the capacity must lie in \[0, d\], got -1"),
        ({"capacities": [2, 4]}, r"group 1: the capacity must lie in \[0, d\], got 4"),
        ({"memory": torch.zeros(2, 2)}, r"the memory must be int32 \[2, 2\]"),
        ({"memory": torch.zeros(1, 2, dtype=torch.int32)}, r"the memory must be int32 \[2, 2\]"),
        ({"memory": torch.zeros(2, 4, dtype=torch.int32)[:, ::2]}, r"the memory must be int32 \[2, 2\]"),
        ({"residuals": [torch.ones(4), torch.ones(3).double()]}, "residual 1 must be float32"),
    ],
)
def test_the_op_itself_refuses_what_its_memory_accesses_rest_on(changed: Arguments, message: str) -> None:
    """Who calls it by its name in torch has none of the checks in Python."""
    assert "cpu" in native_build.library().devices
    arguments: Arguments = {
        "gradients": [torch.ones(4), torch.ones(3)],
        "residuals": [torch.ones(4), torch.ones(3)],
        "counts": [2, 1],
        "rule": 0,
        "parameters": [0.0, 0.0],
        "capacities": [2, 1],
        "memory": torch.zeros(2, 2, dtype=torch.int32),
        **changed,
    }
    with pytest.raises(RuntimeError, match=message):
        torch.ops.sparsync.feedback_select_.default(*arguments.values())
    assert [residual.tolist() for residual in arguments["residuals"]] == [[1.0] * 4, [1.0] * 3]


@pytest.mark.parametrize("arguments", [{"k": True}, {"k": 1.0}, {"k": 1, "capacity": True}, {"k": 1, "capacity": 1.0}])
def test_what_only_equals_a_number_is_refused_after_that_number_was_served_too(arguments: Arguments) -> None:
    for capacity in (None, 1):
        feedback_select(torch.ones(4), torch.zeros(4), 1, capacity=capacity)
    with pytest.raises(ValueError, match="must be an int"):
        feedback_select(torch.ones(4), torch.zeros(4), **arguments)


def test_a_threshold_that_is_a_tensor_is_read_at_every_call() -> None:
    threshold: Any = torch.tensor(0.5)
    for value in (0.5, 2.0):
        threshold.fill_(value)
        payload = feedback_select(torch.ones(4), torch.zeros(4), 1, rule="threshold", threshold=threshold)
        assert payload.count == (4 if value < 1 else 0)


def test_a_vector_too_long_for_int32_indices_is_refused() -> None:
    """Without memory behind it: one zero, seen from everywhere."""
    half = torch.zeros(1).expand(2**30)
    with pytest.raises(ValueError, match="d = 2147483648 does not fit"):
        call_plan.dimensions_of([half, half], [1])
    with pytest.raises(ValueError, match="d = 2147483648 does not fit"):
        call_plan.dimensions_of([half, half[:1].expand(2**31)], [1, 1])
    assert call_plan.dimensions_of([half, half[1:]], [1]) == [2**31 - 1]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"rule": "top_k"}, {"rule": "gaussian_k"}, "belongs to rule 'top_k', got 'gaussian_k'"),
        ({}, {"group_count": 3}, "belongs to 2 selections, got 3"),
        ({}, {"device": torch.device("meta")}, "belongs to cpu, got meta"),
    ],
)
def test_a_state_serves_one_rule_one_number_of_selections_and_one_device(
    first: Arguments, second: Arguments, message: str
) -> None:
    usual: Arguments = {"rule": "top_k", "group_count": 2, "device": torch.device("cpu")}
    state = SelectionState()
    memory = state.memory_for(**{**usual, **first})
    assert (memory.shape, memory.dtype, int(memory.count_nonzero())) == ((2, 2), torch.int32, 0)
    state.keep("top_k", memory)
    with pytest.raises(ValueError, match=message):
        state.memory_for(**{**usual, **first, **second})
    assert state.memory_for(**{**usual, **first}) is memory


def test_a_state_of_another_call_is_refused_before_anything_changes() -> None:
    state, residual = SelectionState(), torch.zeros(1000)
    feedback_select(sample(), residual, 10, rule="top_k", state=state)
    before = residual.clone()
    with pytest.raises(ValueError, match="belongs to rule 'top_k'"):
        feedback_select(sample(), residual, 10, rule="gaussian_k", state=state)
    assert torch.equal(residual, before)


def test_a_state_belongs_to_no_call_that_was_refused() -> None:
    state, residual = SelectionState(), torch.zeros(1000)
    with pytest.raises(ValueError, match="shares memory"):
        feedback_select(residual, residual, 10, rule="top_k", state=state)
    assert feedback_select(sample(), residual, 10, rule="gaussian_k", state=state).count > 0


@pytest.mark.parametrize("ks", [2, [1, 1]])
def test_a_sum_that_is_not_finite_at_the_beginning_of_a_tensor_is_named(ks: int | list[int]) -> None:
    gradients, residuals = [torch.ones(4), torch.tensor([math.inf, 1.0])], [torch.zeros(4), torch.zeros(2)]
    with pytest.raises(ValueError, match="entry 0 of tensor 1 is not finite"):
        feedback_select_many(gradients, residuals, ks)


@pytest.mark.parametrize(
    ("rule", "k", "places"),
    [
        ("top_k", 10, 10),
        ("gaussian_k", 10, 13),
        ("gaussian_k", 90, 100),
        ("gaussian_k", 100, 100),
        ("gaussian_k_released", 10, 100),
        ("chunked_top_k", 10, 10),
    ],
)
def test_a_payload_has_as_many_places_as_its_rule_can_fill(rule: Rule, k: int, places: int) -> None:
    payloads = feedback_select_many([sample(length=100)], [torch.zeros(100)], [k], rule=rule)
    assert [payload.padded()[0].numel() for payload in payloads] == [places]


@needs_compiler
def test_a_state_remembers_across_calls() -> None:
    state = SelectionState()
    feedback_select(sample(), torch.zeros(1000), 10, state=state)
    assert int(state.memory_for("gaussian_k", 1, torch.device("cpu"))[0, 0]) > 0


ONE = 0x3F800000
# 10 ones, 60 of the largest number below 1, zeros.
CROWDED = torch.tensor([ONE] * 10 + [ONE - 1] * 60 + [0] * 930, dtype=torch.int32).view(torch.float32)


@needs_compiler
@pytest.mark.parametrize(
    ("gradient", "k", "before", "after"),
    [
        (CROWDED, 10, (ONE - 1, 1), (ONE - 1, 1)),
        (CROWDED, 10, (ONE + 8, 2**30), (ONE - 2**23, 2**23)),
        (torch.zeros(1000), 10, (ONE, 5), (1, 10)),
        (torch.ones(1000), 1000, (0, 5), (ONE - 10, 10)),
    ],
    ids=["at least one", "at most an octave", "not below zero", "everything is needed"],
)
def test_a_state_remembers_a_magnitude_and_at_most_an_octave(
    gradient: Tensor, k: int, before: tuple[int, int], after: tuple[int, int]
) -> None:
    """The bound of the next list, and how far it lies below the magnitude that decided, both in magnitude bits."""
    state, memory = SelectionState(), torch.tensor([before], dtype=torch.int32)
    state.keep("top_k", memory)
    feedback_select(gradient, torch.zeros_like(gradient), k, rule="top_k", state=state)
    assert tuple(memory[0].tolist()) == after


def one_step(gradient: Tensor, residual: Tensor, state: SelectionState) -> tuple[Tensor, Tensor, Tensor]:
    return feedback_select(gradient, residual, 10, rule="gaussian_k", state=state).padded()


def one_step_of_many(gradient: Tensor, residual: Tensor, state: SelectionState) -> tuple[Tensor, Tensor, Tensor]:
    pieces = [gradient[:700], gradient[700:]], [residual[:700], residual[700:]]
    first, second = feedback_select_many(*pieces, [5, 3], rule="top_k", state=state)
    return (*first.padded()[:2], second.padded()[1])


@needs_compiler
@pytest.mark.parametrize("step", [one_step, one_step_of_many])
def test_a_step_compiles_to_one_graph_with_the_same_bits(
    step: Callable[[Tensor, Tensor, SelectionState], tuple[Tensor, ...]],
) -> None:
    """No code generator: what is tested is the trace, and that it knows that the residual and the memory change."""
    traced = torch.compile(step, fullgraph=True, backend="aot_eager")
    states = SelectionState(), SelectionState()
    residuals = torch.zeros(1000), torch.zeros(1000)
    for seed in range(3):
        outputs = [
            function(sample(seed=seed), residual, state)
            for function, residual, state in zip((traced, step), residuals, states, strict=True)
        ]
        assert all(torch.equal(left, right) for left, right in zip(*outputs, strict=True))
        assert torch.equal(*residuals)
        memories = [state._memory for state in states]
        assert memories[0] is not None
        assert memories[1] is not None
        assert torch.equal(memories[0], memories[1])


@needs_compiler
@pytest.mark.parametrize(
    ("rule", "least", "ks"),
    [
        ("top_k", None, (10, 20, 30)),
        ("gaussian_k", None, (10, 20, 30)),
        ("gaussian_k_released", None, (10, 10)),
        ("threshold", 1.5, (10, 20, 30)),
        ("chunked_top_k", None, (10, 20, 30)),
    ],
)
def test_a_step_of_every_rule_compiles_to_one_graph(rule: Rule, least: float | None, ks: tuple[int, ...]) -> None:
    """Only the released rule needs a fixed k: its quantile is computed when the step is traced."""
    torch.compiler.reset()
    traced = torch.compile(feedback_select, fullgraph=True, backend="aot_eager")
    for k in ks:
        residuals = torch.zeros(1000), torch.zeros(1000)
        found, expected = (
            function(sample(), residual, k, rule=rule, threshold=least)
            for function, residual in zip((traced, feedback_select), residuals, strict=True)
        )
        assert torch.equal(found.indices, expected.indices)
        assert torch.equal(*residuals)


@needs_compiler
def test_a_compiled_step_may_return_its_payload() -> None:
    def step(gradient: Tensor, residual: Tensor) -> SparsePayload:
        return feedback_select(gradient, residual, 10)

    traced = torch.compile(step, fullgraph=True, backend="aot_eager")(sample(), torch.zeros(1000))
    assert torch.equal(traced.indices, step(sample(), torch.zeros(1000)).indices)


@needs_compiler
def test_a_compiled_step_does_not_stop_where_the_sum_is_not_finite() -> None:
    gradient, residual = sample(), torch.zeros(1000)
    gradient[7] = math.nan
    traced = torch.compile(feedback_select, fullgraph=True, backend="aot_eager")
    assert traced(gradient, residual, 10).first_non_finite == 7
    assert residual[7] == 0


def test_the_reference_can_be_asked_for() -> None:
    code = (
        "import torch; from sparsync.kernels.native import backend, feedback_select\n"
        "e = torch.zeros(3); p = feedback_select(torch.tensor([1., 3., 2.]), e, 1, rule='top_k')\n"
        "print(backend(), p.indices.tolist(), e.tolist(), sep='|')"
    )
    done = run_forked("-c", code, environment={"SPARSYNC_BACKEND": "reference"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "reference: SPARSYNC_BACKEND=reference|[1]|[1.0, 0.0, 2.0]"


def test_another_wish_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSYNC_BACKEND", "triton")
    with pytest.raises(ValueError, match="got 'triton'"):
        native_build.library.__wrapped__()

"""The networks that are known by name are as large as those published."""

from __future__ import annotations

import pytest

from sparsync.experiments.sizing.networks import NETWORKS, TRANSFORMERS, Transformer
from sparsync.experiments.sizing.operators import operators_of
from sparsync.experiments.studies.kernels.model_shapes import MODEL_SHAPES


def parameters_of(sizes: Transformer) -> int:
    """By hand: tables, and of each block the matrices, biases and norms."""
    width, hidden = sizes.width, sizes.hidden
    if sizes.is_gated:
        block, norm, tables = 4 * width**2 + 3 * width * hidden, width, sizes.tokens
    else:
        block, norm = 4 * width**2 + 4 * width + 2 * width * hidden + hidden + width, 2 * width
        tables = sizes.tokens + sizes.window + sizes.segment_count
    scores = 0 if sizes.is_tied else sizes.tokens * width
    return tables * width + sizes.layers * (block + 2 * norm) + norm + scores


def flops_of(sizes: Transformer) -> int:
    """By hand: two for each weight of a matrix and token, and 4 window² width for the attention of a block."""
    matrices = 4 * sizes.width**2 + (3 if sizes.is_gated else 2) * sizes.width * sizes.hidden
    block = 2 * sizes.window * matrices + 4 * sizes.window**2 * sizes.width
    return sizes.layers * block + 2 * sizes.window * sizes.width * sizes.tokens


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers_have_the_parameters_and_operations_of_their_sizes(name: str) -> None:
    found = operators_of(*NETWORKS[name]())
    assert sum(one.parameter_count for one in found) == parameters_of(TRANSFORMERS[name])
    assert sum(one.forward_flops for one in found) == flops_of(TRANSFORMERS[name])


@pytest.mark.parametrize("name", ["resnet50", "vgg16"])
def test_image_networks_have_the_tensors_that_the_kernels_are_timed_on(name: str) -> None:
    model, _ = NETWORKS[name]()
    mine = sorted(tuple(parameter.shape) for parameter in model.parameters())
    assert mine == sorted(MODEL_SHAPES[name]())

"""How large are the tensors of three networks? Their parameter shapes by rule, as PyTorch's own versions hold them.

The kernel study times selection on these lists; no network is built. Sources: He et al. 2016 (ResNet-50), Simonyan and
Zisserman 2015 (VGG-16), both on 1000 classes; the two-layer LSTM of Zaremba et al. 2014 on Penn Treebank.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

Shape = tuple[int, ...]

_CLASS_COUNT = 1000
_VOCABULARY_SIZE, _UNIT_COUNT = 10_000, 1500


def resnet50() -> list[Shape]:
    """161 tensors with 25,557,032 entries: a stem, four stages of 3, 4, 6 and 3 bottlenecks, one linear layer."""
    shapes = _normalised_convolution(64, 3, 7)
    channels = 64
    for width, block_count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(block_count):
            shapes += _normalised_convolution(width, channels, 1)
            shapes += _normalised_convolution(width, width, 3)
            shapes += _normalised_convolution(4 * width, width, 1)
            if block == 0:
                shapes += _normalised_convolution(4 * width, channels, 1)
            channels = 4 * width
    return shapes + _linear(_CLASS_COUNT, channels)


def vgg16() -> list[Shape]:
    """32 tensors with 138,357,544 entries: thirteen convolutions of width 3, three linear layers, all with biases."""
    widths = (3, 64, 64, 128, 128, 256, 256, 256, *(512,) * 6)
    convolutions = [shape for inner, outer in pairwise(widths) for shape in ((outer, inner, 3, 3), (outer,))]
    return convolutions + _linear(4096, 512 * 7 * 7) + _linear(4096, 4096) + _linear(_CLASS_COUNT, 4096)


def lstm() -> list[Shape]:
    """11 tensors with 66,034,000 entries: an embedding, two layers of 1500 units, a linear layer over 10,000 words."""
    gates = 4 * _UNIT_COUNT
    layer = [(gates, _UNIT_COUNT), (gates, _UNIT_COUNT), (gates,), (gates,)]
    return [(_VOCABULARY_SIZE, _UNIT_COUNT), *layer, *layer, *_linear(_VOCABULARY_SIZE, _UNIT_COUNT)]


MODEL_SHAPES: dict[str, Callable[[], list[Shape]]] = {"resnet50": resnet50, "vgg16": vgg16, "lstm": lstm}


def _normalised_convolution(outer: int, inner: int, width: int) -> list[Shape]:
    """A convolution without bias, then the weight and bias of its batch normalisation."""
    return [(outer, inner, width, width), (outer,), (outer,)]


def _linear(outer: int, inner: int) -> list[Shape]:
    return [(outer, inner), (outer,)]

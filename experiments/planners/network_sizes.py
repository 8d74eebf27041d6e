"""How large are the operators of well-known networks? Parameters by arithmetic, the rest by a plain model.

A multiply-add of the forward pass is 2 operations, and the backward pass has twice as many; what an operator puts out
is kept for the backward pass, in 2 bytes a value, except for the weights of attention, which are computed again. Ours;
shapes and numbers of parameters are those of the released GPT-2, BERT-large, LLaMA and ResNet-50.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sparsync.experiments.planners.osdp import Operator

OPERATIONS_PER_MULTIPLY_ADD = 6
"""Forward and backward."""
ACTIVATION_VALUE_BYTES = 2


class _Device:
    """Makes operators of a device that does so many operations per second."""

    def __init__(self, operations_per_second: float) -> None:
        if not operations_per_second > 0:
            raise ValueError(f"operations_per_second must be positive, got {operations_per_second}")
        self._rate = operations_per_second

    def operator(self, name: str, parameters: int, *, outputs: int, multiply_adds: int = 0) -> Operator:
        """With so many values put out, and so many multiply-adds, for a sample."""
        seconds = OPERATIONS_PER_MULTIPLY_ADD * multiply_adds / self._rate
        return Operator(name, parameters, ACTIVATION_VALUE_BYTES * outputs, seconds)

    def linear(self, name: str, inputs: int, outputs: int, *, tokens: int, biased: bool = True) -> Operator:
        """A matrix with a bias, applied to every token."""
        return self.operator(
            name,
            inputs * outputs + outputs * biased,
            outputs=tokens * outputs,
            multiply_adds=tokens * inputs * outputs,
        )


def gpt2(
    operations_per_second: float, *, layer_count: int = 48, width: int = 2048, tokens: int = 1024
) -> tuple[Operator, ...]:
    """GPT-2 with tied embeddings; the default is that of 48 layers and width 2048."""
    make, vocabulary = _Device(operations_per_second), 50257
    embeddings = (
        make.operator("tokens", vocabulary * width, outputs=tokens * width, multiply_adds=tokens * vocabulary * width),
        make.operator("positions", 1024 * width, outputs=0),
    )
    blocks = _blocks(make, layer_count, width, tokens)
    return (*embeddings, *blocks, make.operator("last norm", 2 * width, outputs=tokens * width))


def bert_large(operations_per_second: float, *, tokens: int = 512) -> tuple[Operator, ...]:
    """BERT-large, uncased, with its pooler."""
    make, width = _Device(operations_per_second), 1024
    embeddings = (
        make.operator("tokens", 30522 * width, outputs=tokens * width),
        make.operator("positions", 512 * width, outputs=0),
        make.operator("segments", 2 * width, outputs=0),
        make.operator("first norm", 2 * width, outputs=tokens * width),
    )
    return (*embeddings, *_blocks(make, 24, width, tokens), make.linear("pooler", width, width, tokens=1))


def llama_7b(operations_per_second: float, *, tokens: int = 2048) -> tuple[Operator, ...]:
    """LLaMA with 7 billion parameters."""
    make, width, hidden, vocabulary = _Device(operations_per_second), 4096, 11008, 32000

    def block(layer: int) -> Iterator[Operator]:
        for name in ("query", "key", "value"):
            yield make.linear(f"{layer} {name}", width, width, tokens=tokens, biased=False)
        yield _attending(make.linear(f"{layer} output", width, width, tokens=tokens, biased=False), make, tokens, width)
        for name, inputs, outputs in (("gate", width, hidden), ("up", width, hidden), ("down", hidden, width)):
            yield make.linear(f"{layer} {name}", inputs, outputs, tokens=tokens, biased=False)
        for name in ("attention norm", "feed-forward norm"):
            yield make.operator(f"{layer} {name}", width, outputs=tokens * width)

    return (
        make.operator("tokens", vocabulary * width, outputs=tokens * width),
        *(operator for layer in range(32) for operator in block(layer)),
        make.operator("last norm", width, outputs=tokens * width),
        make.linear("head", width, vocabulary, tokens=tokens, biased=False),
    )


def resnet50(operations_per_second: float, *, image: int = 224) -> tuple[Operator, ...]:
    """ResNet-50 for 1000 classes; a convolution and its normalisation are two operators."""
    make = _Device(operations_per_second)

    def convolution(name: str, inputs: int, outputs: int, kernel: int, side: int) -> Iterator[Operator]:
        weights = inputs * outputs * kernel**2
        values = outputs * side**2
        yield make.operator(name, weights, outputs=values, multiply_adds=weights * side**2)
        yield make.operator(f"{name} norm", 2 * outputs, outputs=values)

    found = [*convolution("stem", 3, 64, 7, image // 2)]
    inputs = 64
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        side = image // 4 // 2**stage
        for block in range(blocks):
            name, before = f"{stage}.{block}", side * 2 if stage and not block else side
            found += convolution(f"{name} in", inputs, width, 1, before)
            found += convolution(f"{name} middle", width, width, 3, side)
            found += convolution(f"{name} out", width, 4 * width, 1, side)
            if not block:
                found += convolution(f"{name} past", inputs, 4 * width, 1, side)
            inputs = 4 * width
    return (*found, make.linear("classes", inputs, 1000, tokens=1))


NETWORKS: dict[str, Callable[[float], tuple[Operator, ...]]] = {
    "gpt2_48x2048": gpt2,
    "bert_large": bert_large,
    "resnet50": resnet50,
    "llama_7b": llama_7b,
}
"""Operators by name of the network, for a device of so many operations per second."""


def _blocks(make: _Device, layer_count: int, width: int, tokens: int) -> Iterator[Operator]:
    """Of GPT-2 and BERT: attention and a feed-forward part, with biases, and two normalisations."""
    for layer in range(layer_count):
        yield make.linear(f"{layer} query key value", width, 3 * width, tokens=tokens)
        yield _attending(make.linear(f"{layer} output", width, width, tokens=tokens), make, tokens, width)
        yield make.linear(f"{layer} up", width, 4 * width, tokens=tokens)
        yield make.linear(f"{layer} down", 4 * width, width, tokens=tokens)
        for name in ("attention norm", "feed-forward norm"):
            yield make.operator(f"{layer} {name}", 2 * width, outputs=tokens * width)


def _attending(output: Operator, make: _Device, tokens: int, width: int) -> Operator:
    """The projection behind attention, with the time of attention: each token with each, twice."""
    attention = make.operator(output.name, 1, outputs=0, multiply_adds=2 * tokens**2 * width)
    return Operator(
        output.name,
        output.parameter_count,
        output.activation_bytes,
        output.compute_seconds + attention.compute_seconds,
    )

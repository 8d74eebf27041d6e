"""The convolutional networks for images [n, channels, height, width]: ResNet-20 and VGG-16, as they are for CIFAR-10.

LeNet-5, as it is for MNIST. And a small one, for many short runs.

All but LeNet-5 normalise over the batch, so that a worker has running statistics beside its parameters; see
`models.py`. Sources: LeCun, Bottou, Bengio and Haffner (1998), section II.B, with the rectifiers, the pooling and the
linear layers of the code released with Shi, Chu, Cheung and See (2019); He, Zhang, Ren and Sun (2016), arXiv
1512.03385, section 4.2; Simonyan and Zisserman (2015), arXiv 1409.1556, configuration D, with batch normalisation and
one linear layer, as is usual for small images.
"""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional

ImageShape = tuple[int, int, int]

_STAGE_WIDTHS = (16, 32, 64)
_BLOCKS_PER_STAGE = 3
_LENET_SIDE = 32
_LENET_FILTER = 5
_VGG_STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


def resnet20(image_shape: ImageShape, class_count: int) -> nn.Module:
    """Three stages of three residual blocks: 269,722 parameters on three channels and 10 classes."""
    channels, first, last = image_shape[0], _STAGE_WIDTHS[0], _STAGE_WIDTHS[-1]
    blocks = [_ResidualBlock(first, first) for _ in range(_BLOCKS_PER_STAGE)]
    for before, width in pairwise(_STAGE_WIDTHS):
        blocks += [_ResidualBlock(before, width), *(_ResidualBlock(width, width) for _ in range(_BLOCKS_PER_STAGE - 1))]
    return nn.Sequential(
        nn.Conv2d(channels, first, 3, padding=1, bias=False),
        nn.BatchNorm2d(first),
        nn.ReLU(),
        *blocks,
        _MeanOverPlaces(),
        nn.Linear(last, class_count),
    )


def conv3(image_shape: ImageShape, class_count: int) -> nn.Module:
    """Three convolutions that halve height and width: 6,418 parameters on three channels and 10 classes."""
    layers: list[nn.Module] = []
    for before, width in pairwise((image_shape[0], 8, 16, 32)):
        layers += [nn.Conv2d(before, width, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers, _MeanOverPlaces(), nn.Linear(32, class_count))


def lenet5(image_shape: ImageShape, class_count: int) -> nn.Sequential:
    """Two convolutions and three linear layers: 61,706 parameters on one channel of 32 × 32 and 10 classes.

    A smaller image gets a border of zeros up to 32 × 32, so that one of 28 × 28 is padded by two.
    """
    channels, *sides = image_shape
    missing = [max(0, _LENET_SIDE - side) for side in sides]
    height, width = (_after_lenet_stages(side + more) for side, more in zip(sides, missing, strict=True))
    top, left = (more // 2 for more in missing)
    bottom, right = (more - more // 2 for more in missing)
    return nn.Sequential(
        nn.ZeroPad2d((left, right, top, bottom)),
        nn.Conv2d(channels, 6, _LENET_FILTER),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, _LENET_FILTER),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * height * width, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, class_count),
    )


def vgg16(image_shape: ImageShape, class_count: int) -> nn.Module:
    """Thirteen convolutions in five stages, one linear layer: 14,728,266 parameters on three channels and 10 classes.

    Each stage halves height and width, rounded up, so that images of 28 × 28 end in one place as those of 32 × 32 do.
    """
    layers: list[nn.Module] = []
    width = image_shape[0]
    for stage in _VGG_STAGES:
        for wider in stage:
            layers += [nn.Conv2d(width, wider, 3, padding=1), nn.BatchNorm2d(wider), nn.ReLU()]
            width = wider
        layers.append(nn.MaxPool2d(2, ceil_mode=True))
    return nn.Sequential(*layers, _MeanOverPlaces(), nn.Linear(width, class_count))


def _after_lenet_stages(side: int) -> int:
    """Two convolutions without a border, each followed by a halving, rounded down."""
    for _ in range(2):
        side = (side - _LENET_FILTER + 1) // 2
    return side


class _ResidualBlock(nn.Module):
    """x ↦ relu(shortcut(x) + F(x)); where the width grows, the shortcut takes every second place and pads with zeros.

    That shortcut has no parameters: option A of He et al.
    """

    def __init__(self, before: int, width: int) -> None:
        super().__init__()
        self._stride = 1 if before == width else 2
        self._missing = width - before
        self.residual = nn.Sequential(
            nn.Conv2d(before, width, 3, stride=self._stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, images: Tensor) -> Tensor:
        shortcut = images[:, :, :: self._stride, :: self._stride]
        # Half of the new channels before the old ones, half behind.
        padded = functional.pad(shortcut, (0, 0, 0, 0, self._missing // 2, self._missing - self._missing // 2))
        return functional.relu(padded + self.residual(images))


class _MeanOverPlaces(nn.Module):
    """[n, channels, height, width] ↦ [n, channels]."""

    def forward(self, images: Tensor) -> Tensor:
        return images.mean(dim=(2, 3))

"""What follows a matrix product: a bias, and a ReLU."""

from gmpool.ops.add_bias.operator import add_bias, affine

__all__ = ["add_bias", "affine"]

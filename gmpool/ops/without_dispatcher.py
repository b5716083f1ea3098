"""Operators called without PyTorch's dispatcher, where nothing but the values is asked for.

A custom operator written in Python costs some 40 µs per call beside its work: the way through the
dispatcher past vmap, autograd and compilers to the kernel. On a CPU and a batch of small graphs its
work is 20 to 60 µs. The same kernel and the same derivative as an autograd.Function cost 8 µs.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def without_dispatcher(
    operator: Callable[..., Any],
    kernel: Callable[..., Any],
    save: Callable[[Any, tuple[Any, ...], Any], None],
    backward: Callable[..., Any],
    onnx_form: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """The operator, called as a function of tensors where no transform looks on.

    operator: the custom operator of the same kernel, with `save` and `backward` registered: it
    serves every other case but an export to ONNX, which knows no operators of ours (`onnx_form`).
    The first argument decides, and is a tensor.
    """

    def forward(ctx: Any, *args: Any) -> Any:
        # Saving here, not in setup_context, for which PyTorch inspects signatures in every call.
        out = kernel(*args)
        save(ctx, args, out)
        return out

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    form: Any = type(f"{kernel.__name__}_without_dispatcher", (torch.autograd.Function,), methods)

    def call(*args: Any) -> Any:
        if not only_values(args[0]):
            plainly = onnx_form if torch.onnx.is_in_onnx_export() else None
            return (plainly or operator)(*args)
        return form.apply(*args) if torch.is_grad_enabled() else kernel(*args)

    return call


def save_inputs(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """The `save` of an operator whose derivative needs what it was given, all tensors or None."""
    ctx.save_for_backward(*inputs)


def only_values(t: Tensor) -> bool:
    """Not compiled, under no transform such as vmap, no tensor that stands for others."""
    return (
        not torch.compiler.is_compiling()
        and (t.is_cpu or t.is_cuda)
        and type(t) in (Tensor, torch.nn.Parameter)
        and not transformed()
    )


def transformed() -> bool:
    """Whether a transform such as vmap looks on, so that a tensor may stand for many."""
    return torch._C._are_functorch_transforms_active()

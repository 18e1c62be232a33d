"""Communication hooks for DistributedDataParallel.

    model = DistributedDataParallel(module)
    model.register_comm_hook(None, dtring.hooks.bf16_wire)

The gradients stay float32 on both sides; between hosts they are sent with 16 bits, rounded to nearest,
and summed in float32. This is DTRING_WIRE=bf16 for the gradients of a single model.
"""

from typing import Any

import torch
import torch.distributed as dist

from dtring import _library
from dtring._group import ProcessGroup


def bf16_wire(group: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """The mean of the gradients, as bfloat16 on the wire. `group`: None for the default one."""
    return _mean(group, bucket, _library.WIRE_BF16)


def f16_wire(group: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """The mean of the gradients, as float16 on the wire; values beyond 65504 become infinite."""
    return _mean(group, bucket, _library.WIRE_F16)


def exact_wire(group: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """The mean of the gradients in float32, even if DTRING_WIRE says otherwise."""
    return _mean(group, bucket, _library.WIRE_EXACT)


def _mean(group: Any, bucket: dist.GradBucket,
          wire: int) -> torch.futures.Future[torch.Tensor]:
    group = group if group is not None else dist.group.WORLD
    if not isinstance(group, ProcessGroup):
        raise TypeError("dtring: the hook is for process groups of the backend dtring, and this one's "
                        f"is {dist.get_backend(group)}")
    buffer = bucket.buffer()
    work = group.allreduce_on_wire(buffer, dist.ReduceOp.AVG, wire)
    return work.get_future().then(lambda future: future.value()[0])

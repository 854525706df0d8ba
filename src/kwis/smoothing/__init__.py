"""The engine: kernel averages over pairs of contexts, exact, in memory that grows with the number of rows.

The functions here are its front door. They pick the plan that suits the data; the caller never has to know which.
"""

from __future__ import annotations

from kwis.kernels import Kernel
from kwis.smoothing import blocked
from kwis.smoothing.geometry import Geometry
from kwis.typing import Bandwidth, Floats


def kernel_products(context: Floats, bandwidth: Bandwidth, kernel: Kernel, categorical: tuple[int, ...], vectors: Floats) -> Floats:
    """``K @ vectors`` (n, p) with ``K_ij = k_h(s_i, s_j)``, 1 on the diagonal."""
    return blocked.kernel_products(Geometry.of(context, categorical).scaled(bandwidth), kernel, vectors)

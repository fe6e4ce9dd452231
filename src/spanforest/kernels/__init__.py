"""Kernels between examples, their unit-diagonal form, and checks of a given one.

Every function takes and returns real numbers: float32 input gives float32 matrices,
anything else float64. Feature matrices may be dense or CSR; kernel matrices are dense.
"""

from spanforest.kernels._arrays import unit_rows
from spanforest.kernels._forest import ForestKernel
from spanforest.kernels._functions import (
    absolute_gamma,
    median_gamma,
    scale_gamma,
    tanimoto_kernel,
)
from spanforest.kernels._matrices import check_kernel_matrix, unit_diagonal
from spanforest.kernels._registry import (
    KERNEL_NAMES,
    KERNELS,
    Kernel,
    KernelSpec,
    Scale,
)
from spanforest.kernels._sum import SumKernel

__all__ = [
    "KERNELS",
    "KERNEL_NAMES",
    "ForestKernel",
    "Kernel",
    "KernelSpec",
    "Scale",
    "SumKernel",
    "absolute_gamma",
    "check_kernel_matrix",
    "median_gamma",
    "scale_gamma",
    "tanimoto_kernel",
    "unit_diagonal",
    "unit_rows",
]

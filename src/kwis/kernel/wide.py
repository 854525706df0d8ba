"""Many columns: matrix products while they are exact, compiled differences where bandwidths are so small that
products would cancel.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from kwis.kernel.blocked import BlockedCV
from kwis.kernel.geometry import Geometry, expands
from kwis.kernel.held_out import CrossValidation, Folds, Score
from kwis.kernel.profiles import RBF, Kernel
from kwis.typing import Bandwidth, Floats

_WORK = 10_000_000  # differences from which compiled loops repay their compilation
_ROUGH_ERROR = 1e-7  # of a squared distance, where a minimum is only to be located


@dataclass(frozen=True, slots=True)
class WideCV:
    """Held-out error of the RBF kernel; a search per feature may start from small bandwidths and then leave
    them.
    """

    products: BlockedCV
    _differences: list[CrossValidation] = field(
        default_factory=list, repr=False, compare=False
    )  # made when first needed

    @staticmethod
    def fits(geometry: Geometry, folds: Folds, kernel: Kernel) -> bool:
        """Whether the compiled loops know the kernel and folds, and there is enough to do for them."""
        return kernel is RBF and not folds.small and geometry.n**2 * geometry.d >= _WORK

    def rough(self) -> WideCV:
        """The same with products down to smaller bandwidths, precise enough to locate a minimum."""
        return WideCV(replace(self.products, error=_ROUGH_ERROR))

    def score(self, weight: Floats, bandwidth: Bandwidth) -> Score:
        """Cross-validated squared error and its gradient with respect to the log bandwidth."""
        return self._suited(bandwidth).score(weight, bandwidth)

    def scan(self, weight: Floats, bandwidths: Floats) -> Floats:
        """Scores at many shared bandwidths."""
        return self.products.scan(weight, bandwidths)

    def _suited(self, bandwidth: Bandwidth) -> CrossValidation:
        geometry = self.products.geometry
        if np.ndim(bandwidth) == 0:  # the slope of one bandwidth takes no column by itself
            return self.products
        numeric = geometry.scaled(bandwidth).numeric
        if expands(numeric, numeric, self.products.error):
            return self.products
        if not self._differences:
            from kwis.kernel.tiles import FusedCV

            self._differences.append(FusedCV.of(geometry, self.products.folds))
        return self._differences[0]

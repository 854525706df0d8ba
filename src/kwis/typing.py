"""Names for the array types that cross module boundaries."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Bandwidth = float | Floats
Seed = int | np.random.Generator

__all__ = ["ArrayLike", "Bandwidth", "Floats", "Ints", "Seed"]

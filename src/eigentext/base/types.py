"""Types for annotations: arrays by what is in them, and what JSON holds.

A shape stands in the docstring beside the name of the array, since types do not hold it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]
Int8s = npt.NDArray[np.int8]
Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt8s = npt.NDArray[np.uint8]
UInt32s = npt.NDArray[np.uint32]
UInt64s = npt.NDArray[np.uint64]

#: An array of numpy with numbers of any kind
Numbers = npt.NDArray[Any]
#: A sparse matrix of scipy or CuPy, which say nothing of types
Sparse = Any
#: An array of numpy, CuPy or torch: code that runs on each of them
AnyArray = Any
#: An object of JSON, decoded
Json = dict[str, Any]

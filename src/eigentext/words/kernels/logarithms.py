"""x log x and log x without a call, so that loops over them become vector code.

y = 2^e t with 1 <= t < 2, and log t = log sqrt 2 + 2 atanh s, s = (t - sqrt 2) / (t + sqrt 2).
The bits of a double give e and t; the series of atanh is cut where it is exact enough.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from eigentext.base.compiling import njit

_HALF_LOG_2 = 0.5 * np.log(2.0)
_LOG_2 = np.log(2.0)
_ROOT_2 = np.sqrt(2.0)


@intrinsic
def _bits_of(typingctx, x):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), codegen


@intrinsic
def _float_of(typingctx, x):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen


@njit(inline="always", error_model="numpy")
def quick_log(y):
    """log y to 1e-9 for normal y > 0."""
    bits = _bits_of(y)  # sign, 11 bits of the exponent (plus 1023), 52 of the fraction
    exponent = (bits >> 52) - 1023
    t = _float_of((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)  # the same with exponent 0
    s = (t - _ROOT_2) / (t + _ROOT_2)  # at most 0.172 either way
    q = s * s
    series = 2.0 + q * (2 / 3 + q * (2 / 5 + q * (2 / 7 + q * (2 / 9))))
    return exponent * _LOG_2 + (_HALF_LOG_2 + s * series)


@njit(inline="always", error_model="numpy")
def x_log_x(y):
    """y log y to full precision, 0 at 0."""
    bits = _bits_of(y)
    exponent = (bits >> 52) - 1023
    t = _float_of((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)
    s = (t - _ROOT_2) / (t + _ROOT_2)
    q = s * s
    series = 2 / 11 + q * (2 / 13 + q * (2 / 15 + q * (2 / 17 + q * (2 / 19))))
    series = 2.0 + q * (2 / 3 + q * (2 / 5 + q * (2 / 7 + q * (2 / 9 + q * series))))
    return y * (exponent * _LOG_2 + (_HALF_LOG_2 + s * series))

# SPDX-License-Identifier: Apache-2.0
"""Headers of .npy files from anywhere, where numpy raises whatever Python's parser does."""

from __future__ import annotations

from typing import IO, Any

import numpy as np


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type of the values, which begin where the file is then.

    Numbers of the shape are as written, negative ones too. Raises ValueError for what is no such header.
    """
    try:
        version = np.lib.format.read_magic(file)  # type: ignore[no-untyped-call]
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"format version {version}, expected (1, 0) or (2, 0)")
        first = version == (1, 0)
        read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        shape, by_columns, kind = read(file)  # type: ignore[no-untyped-call]
    except Exception as error:  # what Python's tokenizer and parser raise: TokenError, MemoryError, ...
        raise ValueError(f"damaged header: {type(error).__name__}: {str(error)[:200]}") from None
    return shape, by_columns, kind

# SPDX-License-Identifier: Apache-2.0
"""Small databases for tests of private retrieval."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from halocline import pir

SMALL: dict[str, Any] = {"log_n": 10, "prime_bits": 30.0, "plain_bits": 8, "allow_insecure": True}
"""A ring that is fast and not secure."""


def small_params() -> pir.Params:
    """Insecure parameters of ring degree 1024."""
    return pir.Params("pir-n2048", **SMALL)


def random_records(records: int, record_bytes: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Records as rows of an array."""
    print(f"seed {seed}")
    return np.random.default_rng(seed).integers(0, 256, size=(records, record_bytes), dtype=np.uint8)


def fetch(server: pir.Server, client: pir.Client, index: int) -> bytes:
    """A record, the whole way."""
    query = client.query(index)
    return client.decode(query, server.answer(query.to_bytes()))


def run_threads(count: int, work: Callable[[int], None]) -> None:
    """Runs work(i) on threads; raises what the first one raised."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
        assert not each.is_alive()
    if errors:
        raise errors[0]

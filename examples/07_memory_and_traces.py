# SPDX-License-Identifier: Apache-2.0
"""Where the bytes are: budgets, statistics, and traces of what a program touches."""

import halocline as hc
import numpy as np

params = hc.Params.preset("n14-d7")
client = hc.Client(params)
values = np.linspace(-1, 1, params.slots)


def program(x):
    """Some products and rotations, in two phases when run on an engine."""
    with x.engine.phase("square"):
        y = x * x
    with x.engine.phase("sum"):
        return y + y.rotate(1) + y.rotate(2)


# What would happen: shapes, levels and allocations, but no arithmetic and no keys.
planned = hc.trace_program(params, program)
print(f"ghost: peak {planned.peak_bytes} bytes, {planned.stats['steps']} steps, {planned.key_plan}")

# What does happen. The bytes are the same.
engine = hc.Engine(params, client.evaluation_keys(plan=planned.key_plan), memory="256MiB")
x = client.encrypt(values).to(engine)
with engine.record() as trace:
    result = program(x)
assert np.abs(client.decrypt(result)[0] - (values[:3] ** 2).sum()) < 2.0**-18
assert list(trace.columns["bytes"]) == list(planned.trace.columns["bytes"])

print("class           objects       read    written       peak")
for name, s in trace.stats().items():
    print(f"{name:14s} {s.objects:8d} {s.read_bytes:10d} {s.written_bytes:10d} {s.peak_bytes:10d}")

# One row per event, as CSV; `halocline trace stats|plot` reads the file.
trace.save("trace.csv")
again = hc.Trace.load("trace.csv")
assert again.to_csv() == trace.to_csv()
print("first events:", *again.to_csv().splitlines()[:4], sep="\n  ")

# A budget that is too small is refused with a message that says what takes the room.
try:
    hc.Engine(params, client.evaluation_keys([1, 2, 3, 4]), memory="16MiB")
except hc.OutOfMemory as refused:
    print("as expected:", refused)

# Keys at rest are half as large: one half is a seed, expanded when the key is loaded, or at each use.
keys = client.evaluation_keys([1, 2])
full, seeded = (hc.Engine(params, keys, keep_seeds=keep) for keep in (False, True))
for name, each in (("expanded", full), ("seeded", seeded)):
    print(f"{name} keys: {each.stats()['live_by_class']['evaluation_key']} bytes")

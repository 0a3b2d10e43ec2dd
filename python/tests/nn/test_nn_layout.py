# SPDX-License-Identifier: Apache-2.0
"""Where values of layers are in slots."""

import halocline as hc
import numpy as np
import pytest
from halocline.nn import Layout


def slot(layout, c, y, x):
    """The formula of the class, for one value."""
    cell = c % layout.gap**2
    row = layout.gap * y + cell // layout.gap
    return (c // layout.gap**2) * layout.block + row * layout.pitch + layout.gap * x + cell % layout.gap


@pytest.mark.parametrize(
    ("layout", "slots"),
    [
        (Layout.of((16, 32, 32)), 16384),
        (Layout.of((16, 32, 32)).strided(2, (32, 16, 16)), 8192),
        (Layout.of((16, 32, 32)).strided(2, (32, 16, 16)).strided(2, (64, 8, 8)), 4096),
        (Layout.of((3, 7, 5)), 128),
        (Layout.of((5, 7, 7), 2).strided(2, (6, 4, 4)), 128),
        (Layout.of((10,)), 16),
        (Layout(3, 4, 4, slots=256), 256),
    ],
)
def test_every_value_has_a_slot_of_its_own(layout, slots):
    assert layout.slots == slots
    index = layout.index().reshape(layout.channels, layout.rows, layout.columns)
    assert len(np.unique(index)) == layout.size <= slots
    for c, y, x in np.ndindex(index.shape):
        assert index[c, y, x] == slot(layout, c, y, x) < slots
    assert layout.is_full == (layout.size == slots)
    values = np.arange(1.0, layout.size + 1).reshape(index.shape)
    packed = layout.pack(values)
    assert (packed != 0).sum() == layout.size
    np.testing.assert_array_equal(layout.unpack(packed), values)


def test_strides_that_do_not_fit_give_a_dense_layout():
    odd = Layout.of((4, 7, 7))
    assert odd.strided(2, (4, 4, 4)) == Layout.of((4, 4, 4))
    assert Layout.of((4, 7, 7), 2).strided(2, (4, 4, 4)).gap == 2


def test_bad_layouts():
    with pytest.raises(hc.InvalidArgument, match="rows of at least 8"):
        Layout(4, 4, 4, gap=2, pitch=4, block=64)
    with pytest.raises(hc.InvalidArgument, match="power of two of at least 64"):
        Layout(4, 4, 4, slots=48)
    with pytest.raises(hc.InvalidArgument, match="expected 64 for 4 channels"):
        Layout(4, 4, 4).pack(np.zeros(63))
    with pytest.raises(hc.InvalidArgument, match="expected 64 slots"):
        Layout(4, 4, 4).unpack(np.zeros(32))

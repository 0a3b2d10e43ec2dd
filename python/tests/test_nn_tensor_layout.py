# SPDX-License-Identifier: Apache-2.0
"""Tensors over several ciphertexts, and several images in one: slots."""

import halocline as hc
import numpy as np
import pytest
from halocline.nn import Layout
from halocline.nn.tensor_layout import TensorLayout

CASES = [  # image, slots of a ciphertext, images at once, ciphertexts of one image, images in one
    (Layout.of((3, 4, 4)), 64, 1, 1, 1),
    (Layout.of((3, 4, 4)), 256, 8, 1, 4),
    (Layout.of((3, 4, 4)), 1024, 3, 1, 4),
    (Layout.of((8, 4, 4)), 32, 5, 4, 1),
    (Layout.of((5, 4, 4)), 32, 1, 3, 1),
    (Layout.of((4, 8, 8)).strided(2, (20, 4, 4)), 128, 2, 3, 1),
    (Layout.of((5,)), 64, 16, 1, 8),
    (Layout.of((40,)), 16, 1, 3, 1),
    (Layout.of((3, 3, 3)), 16, 1, 3, 1),  # blocks of 9 slots
]


@pytest.mark.parametrize(("image", "slots", "images", "parts", "batch"), CASES)
def test_every_value_has_a_slot_of_its_own(image, slots, images, parts, batch, rng):
    made = TensorLayout.within(image, slots, images)
    assert (made.parts, made.batch) == (parts, batch)
    assert made.slots <= slots
    values = rng.normal(size=(2 * batch + 1, image.channels, image.rows, image.columns))
    packed = made.pack(values)
    assert len(packed) == made.ciphertexts(len(values)) == 3 * parts
    assert all(each.shape == (made.slots,) for each in packed)
    full = made.unpack(packed)
    np.testing.assert_array_equal(full[: len(values)], values)
    # What has no image of its own repeats the last one, whose ranges were checked.
    np.testing.assert_array_equal(full[len(values) :], np.repeat(values[-1:], batch - 1, axis=0))
    np.testing.assert_array_equal(made.unpack(packed, len(values)), values)
    used = sum(np.count_nonzero(each) for each in packed)
    assert used == 3 * batch * image.size
    assert made.is_full == (used == 3 * parts * made.slots)


def test_one_image_of_one_ciphertext_is_packed_as_its_layout_says(rng):
    image = Layout.of((4, 8, 8)).strided(2, (10, 4, 4))
    values = rng.normal(size=(1, 10, 4, 4))
    (packed,) = TensorLayout.within(image, 1 << 12).pack(values)
    np.testing.assert_array_equal(packed, image.pack(values[0]))


def test_what_does_not_fit_is_refused():
    with pytest.raises(hc.InvalidArgument, match="8 slots, expected at least 16 for 1 images"):
        TensorLayout.within(Layout.of((3, 4, 4)), 8)
    with pytest.raises(hc.InvalidArgument, match="3 images in 512 slots, expected powers of two"):
        TensorLayout(Layout.of((3, 4, 4)), 512, 3)
    made = TensorLayout.within(Layout.of((8, 4, 4)), 64)
    with pytest.raises(hc.InvalidArgument, match="expected images of 8 channels of 4 x 4"):
        made.pack(np.zeros((2, 7, 4, 4)))
    with pytest.raises(hc.InvalidArgument, match="multiple of 2 ciphertexts"):
        made.unpack(np.zeros((3, 64)))
    with pytest.raises(hc.InvalidArgument, match="count"):
        made.unpack(np.zeros((2, 64)), 2)


def test_places_of_a_group_of_images(rng):
    made = TensorLayout.within(Layout.of((3, 4, 4)), 128, 2)
    images = rng.normal(size=(4, 3, 4, 4))
    places = made.places(4)
    assert places.shape == (4, 48)
    np.testing.assert_array_equal(np.concatenate(made.pack(images))[places], images.reshape(4, -1))

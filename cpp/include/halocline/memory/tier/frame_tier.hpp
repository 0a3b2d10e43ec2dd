// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "halocline/memory/tier.hpp"

namespace halocline::memory {

/// Frames in DRAM for a pager, all of them whole pages of 4096 bytes. Memory of freed frames is kept without
/// limit, and what is kept serves requests of any size: a frame is cut from a free range that is large
/// enough, or put together from several ones, whose pages then move to new addresses (`mremap`). Moving a
/// page costs a small part of releasing it and allocating a zeroed one, and a pager at full capacity does
/// this whenever it replaces frames by frames of another size.
///
/// Frames of scratch and ciphertexts (`allocate_for`) lie in a range of addresses of their own, in which
/// pages stay: what an operation makes gets the pages that the operation before has freed.
[[nodiscard]] std::unique_ptr<tier> make_frame_tier();

}  // namespace halocline::memory

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace halocline::memory {

struct buffer_state;

/// How one step touches one buffer.
struct step_use {
  buffer_state* state = nullptr;
  std::size_t extent = 0;  ///< bytes from the begin of the buffer that the step may touch
  bool reads = false;
  bool writes = false;
  bool covers = false;  ///< a write covers the whole buffer
};

}  // namespace halocline::memory

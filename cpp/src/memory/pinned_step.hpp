// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace halocline::memory {

class runtime;
struct buffer_state;

/// What an `access` holds where buffers move. The backends keep the buffers' handles alive while it lives.
struct pinned_step {
  runtime& owner;
  std::vector<buffer_state*> states;
  std::size_t op = 0;             ///< number in the cost meter
  std::size_t touched_bytes = 0;  ///< 0: not measured
  std::uint64_t begin_ns = 0;     ///< when everything was there; 0: not yet
  std::uint64_t begin_stamp = 0;  ///< the same on an accelerator; 0: not measured
};

}  // namespace halocline::memory

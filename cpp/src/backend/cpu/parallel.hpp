// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "backend/cpu/worker_pool.hpp"

namespace halocline::backend::cpu {

/// Words of work up to which a batch stays on the calling thread: they take about 3 microseconds, and sharing
/// costs about 1 (more when the workers sleep).
inline constexpr std::size_t serial_words = std::size_t{1} << 16;

/// Runs `body(i)` for i < count on the threads of `pool`, or in place when the whole batch (`words` residues
/// touched) is tiny. `body` must not throw.
template <typename BodyT>
void parallel_for(worker_pool& pool, std::size_t count, std::size_t words, const BodyT& body) {
  if (words > serial_words) {
    pool.run(count, body);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) body(i);
}

}  // namespace halocline::backend::cpu

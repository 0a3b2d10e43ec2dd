// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>

namespace halocline::backend::cpu {

/// Words of work up to which a batch stays on the calling thread: they take about 3 microseconds, and
/// starting a team costs 1 to 2 (more when its threads have gone to sleep).
inline constexpr std::size_t serial_words = std::size_t{1} << 16;

/// Runs `body(i)` for i < count on up to `threads` threads, or in place when the whole batch (`words`
/// residues touched) is tiny or the caller is itself inside a parallel region. `body` must not throw.
template <typename BodyT>
void parallel_for(unsigned threads, std::size_t count, std::size_t words, const BodyT& body) {
  const int team = static_cast<int>(std::min<std::size_t>(threads, count));
  if (team <= 1 || words <= serial_words || omp_in_parallel() != 0) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
#pragma omp parallel for num_threads(team) schedule(dynamic)
  for (std::size_t i = 0; i < count; ++i) body(i);
}

}  // namespace halocline::backend::cpu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/backend/descriptors.hpp"

namespace halocline::backend::cuda {

/// Cuts the windows of a batch where any of them begins or ends, and calls `visit(primes, members)` for up to
/// `most` windows that contain the piece `primes` at a time, so that each limb of each window is visited
/// once. Members are numbers of windows; groups of one piece are of nearly equal size.
template <typename VisitT>
void for_each_prime_group(std::span<const window> windows, unsigned most, const VisitT& visit) {
  std::vector<std::uint32_t> cuts;
  for (const window& each : windows) cuts.insert(cuts.end(), {each.first, each.end()});
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<std::uint32_t> members;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    const window piece{cuts[c], cuts[c + 1] - cuts[c]};
    members.clear();
    for (std::uint32_t i = 0; i < windows.size(); ++i) {
      if (windows[i].contains(piece.first)) members.push_back(i);
    }
    const std::size_t parts = (members.size() + most - 1) / most;
    for (std::size_t p = 0; p < parts; ++p) {
      const std::size_t first = members.size() * p / parts, last = members.size() * (p + 1) / parts;
      visit(piece, std::span<const std::uint32_t>(members).subspan(first, last - first));
    }
  }
}

}  // namespace halocline::backend::cuda

// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/retrieval/retrieval_tuning.hpp"

#include <utility>

namespace halocline::backend::cuda {
namespace {

const retrieval_tuning* overridden = nullptr;

}  // namespace

// No card has been measured yet: one row, chosen by counts of instructions and bytes
// (docs/concepts/cuda_retrieval.md).
const retrieval_tuning& retrieval_tuning_of(int) noexcept {
  static constexpr retrieval_tuning table;
  return overridden != nullptr ? *overridden : table;
}

void override_retrieval_tuning(const retrieval_tuning* tuning) noexcept { overridden = tuning; }

row_shape row_shape_for(const retrieval_tuning& tuning, std::uint32_t queries) noexcept {
  struct candidate {
    row_shape shape;
    std::uint32_t block, least;  // queries
  };
  const candidate candidates[] = {{row_shape::two_queries, 2, tuning.two_queries},
                                  {row_shape::four_queries, 4, tuning.four_queries},
                                  {row_shape::eight_queries, 8, tuning.eight_queries}};
  const auto padded = [&](std::uint32_t block) { return (queries + block - 1) / block * block; };
  row_shape best = row_shape::one_query;
  std::uint32_t least = ~std::uint32_t{0};
  for (const candidate& each : candidates) {
    if (each.least == 0 || queries < each.least || padded(each.block) > least) continue;
    best = each.shape;
    least = padded(each.block);
  }
  return best;
}

}  // namespace halocline::backend::cuda

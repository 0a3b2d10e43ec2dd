// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/minimax_sign.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

#include "minimax_sign_tables.inc"

std::string available() {
  std::string list;
  for (const composite_sign& chain : all_sets) {
    list += (list.empty() ? "" : ", ") + std::to_string(chain.alpha);
  }
  return list;
}

}  // namespace

const composite_sign& minimax_sign(int alpha) {
  const auto* const found =
      std::find_if(std::begin(all_sets), std::end(all_sets),
                   [alpha](const composite_sign& chain) { return chain.alpha == alpha; });
  HALOCLINE_EXPECTS(found != std::end(all_sets), invalid_argument,
                    "minimax sign: no polynomials for alpha = ", alpha, "; choose one of ", available());
  return *found;
}

std::vector<int> minimax_sign_alphas() {
  std::vector<int> alphas;
  for (const composite_sign& chain : all_sets) {
    alphas.push_back(chain.alpha);
  }
  return alphas;
}

double evaluate(const minimax_stage& stage, double u) noexcept {
  // Odd Chebyshev polynomials obey T_{2k+3} = 2 T_2(u) T_{2k+1} - T_{2k-1} with T_{-1} = T_1 = u, so that
  // Clenshaw's recurrence in 2 T_2(u) ends in (b_0 - b_1) u.
  const double two_t2 = 2.0 * (2.0 * u * u - 1.0);
  double current = 0.0;
  double previous = 0.0;
  for (std::size_t k = stage.chebyshev_odd.size(); k-- > 0;) {
    const double next = stage.chebyshev_odd[k] + two_t2 * current - previous;
    previous = current;
    current = next;
  }
  return (current - previous) * u;
}

double evaluate(const composite_sign& chain, double x) noexcept {
  for (const minimax_stage& stage : chain.stages) {
    x = evaluate(stage, x);
  }
  return x;
}

}  // namespace halocline::circuits

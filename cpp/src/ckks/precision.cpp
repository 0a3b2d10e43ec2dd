// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/precision.hpp"

#include <cmath>

#include "halocline/core/expects.hpp"

namespace halocline::ckks {

precision_stats measure_precision(std::span<const std::complex<double>> computed,
                                  std::span<const std::complex<double>> expected) {
  HALOCLINE_EXPECTS(computed.size() == expected.size() && !expected.empty(), invalid_argument,
                    "measure_precision: ", computed.size(), " computed and ", expected.size(),
                    " expected slots; expected the same positive number");
  precision_stats result;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const std::complex<double> gap = computed[k] - expected[k];
    const double re = std::abs(gap.real());
    const double im = std::abs(gap.imag());
    const double slot_error = im > re || std::isnan(im) ? im : re;
    result.mean_error += slot_error;
    // Not-a-number is the worst error.
    if (slot_error > result.max_error || (std::isnan(slot_error) && !std::isnan(result.max_error))) {
      result.max_error = slot_error;
      result.worst_slot = k;
    }
  }
  result.mean_error /= static_cast<double>(expected.size());
  result.mean_bits = -std::log2(result.mean_error);
  result.worst_bits = -std::log2(result.max_error);
  return result;
}

}  // namespace halocline::ckks

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <span>

namespace halocline::ckks {

/// Distance between computed and expected slots, as bits: -log2 of the absolute error (infinite for no error
/// at all).
struct precision_stats {
  double mean_bits = 0.0;   ///< of the mean error over slots
  double worst_bits = 0.0;  ///< of the largest error
  double mean_error = 0.0;
  double max_error = 0.0;
  std::size_t worst_slot = 0;
};

/// Compares slot by slot; the error of a complex slot is the larger of the errors of its two parts.
/// @throws invalid_argument when the lengths differ or are 0.
[[nodiscard]] precision_stats measure_precision(std::span<const std::complex<double>> computed,
                                                std::span<const std::complex<double>> expected);

}  // namespace halocline::ckks

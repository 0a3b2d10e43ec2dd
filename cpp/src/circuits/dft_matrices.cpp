// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/dft_matrices.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

using complex = std::complex<double>;

unsigned log2_of(std::uint32_t slots) { return static_cast<unsigned>(std::bit_width(slots) - 1); }

std::uint32_t wrap(std::int64_t index, std::uint32_t slots) {
  const auto size = static_cast<std::int64_t>(slots);
  return static_cast<std::uint32_t>(((index % size) + size) % size);
}

/// The index of a diagonal in (-slots/2, slots/2].
int canonical(std::int64_t index, std::uint32_t slots) {
  const std::uint32_t positive = wrap(index, slots);
  return positive > slots / 2 ? static_cast<int>(positive) - static_cast<int>(slots)
                              : static_cast<int>(positive);
}

/// zeta^(5^k), k < half, zeta = exp(2 pi i / 8 half): the factors of blocks of 2 half slots.
std::vector<complex> twiddles(std::uint32_t half) {
  const std::uint64_t order = std::uint64_t{8} * half;
  std::vector<complex> result(half);
  std::uint64_t power = 1;
  for (complex& each : result) {
    each = std::polar(1.0, 2.0 * std::numbers::pi * static_cast<double>(power) / static_cast<double>(order));
    power = power * 5 % order;
  }
  return result;
}

std::vector<complex>& entry(diagonal_map& map, std::int64_t index, std::uint32_t slots) {
  std::vector<complex>& diagonal = map[canonical(index, slots)];
  if (diagonal.empty()) diagonal.resize(slots);
  return diagonal;
}

/// One stage: (a, b) -> (a + t b, a - t b) towards the slots, and its inverse towards the coefficients.
diagonal_map stage(dft_direction direction, std::uint32_t slots, std::uint32_t half) {
  const bool inverse = direction == dft_direction::coeff_to_slot;
  const std::vector<complex> factors = twiddles(half);
  diagonal_map result;
  std::vector<complex>& same = entry(result, 0, slots);
  std::vector<complex>& ahead = entry(result, half, slots);
  std::vector<complex>& behind = entry(result, -static_cast<std::int64_t>(half), slots);
  for (std::uint32_t i = 0; i < slots; ++i) {
    const std::uint32_t k = i % (2 * half);
    const complex t = factors[k % half];
    if (k < half) {
      same[i] = inverse ? 0.5 : 1.0;
      ahead[i] += inverse ? 0.5 : t;
    } else {
      same[i] = inverse ? -0.5 * std::conj(t) : -t;
      behind[i] += inverse ? 0.5 * std::conj(t) : 1.0;
    }
  }
  return result;
}

/// second * first.
diagonal_map product(const diagonal_map& second, const diagonal_map& first, std::uint32_t slots) {
  diagonal_map result;
  for (const auto& [outer, left] : second) {
    for (const auto& [inner, right] : first) {
      std::vector<complex>& sum = entry(result, std::int64_t{outer} + inner, slots);
      std::uint32_t from = wrap(outer, slots);
      for (std::uint32_t i = 0; i < slots; ++i) {
        sum[i] += left[i] * right[from];
        if (++from == slots) from = 0;
      }
    }
  }
  return result;
}

/// Half-lengths of all stages in the order in which they are applied.
std::vector<std::uint32_t> half_lengths(dft_direction direction, std::uint32_t slots) {
  std::vector<std::uint32_t> result;
  for (std::uint32_t half = 1; half < slots; half *= 2) result.push_back(half);
  if (direction == dft_direction::coeff_to_slot) std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace

std::vector<unsigned> dft_stages(dft_direction direction, std::uint32_t slots, unsigned matrices) {
  HALOCLINE_EXPECTS(std::has_single_bit(slots), invalid_argument, "dft: ", slots,
                    " slots; expected a power of two");
  const unsigned stages = log2_of(slots);
  HALOCLINE_EXPECTS(matrices >= 1 && matrices <= std::max(stages, 1u), invalid_argument, "dft: ", matrices,
                    " matrices for ", slots, " slots; expected 1 to ", std::max(stages, 1u),
                    ", one level each");
  std::vector<unsigned> result(matrices, stages / matrices);
  const unsigned longer = stages % matrices;
  const unsigned first = direction == dft_direction::coeff_to_slot ? 0 : matrices - longer;
  for (unsigned i = 0; i < longer; ++i) ++result[first + i];
  return result;
}

std::vector<diagonal_map> dft_matrices(dft_direction direction, std::uint32_t slots, unsigned matrices,
                                       double factor) {
  return dft_matrices(direction, slots, dft_stages(direction, slots, matrices), factor);
}

std::vector<diagonal_map> dft_matrices(dft_direction direction, std::uint32_t slots,
                                       std::span<const unsigned> groups, double factor) {
  HALOCLINE_EXPECTS(std::isfinite(factor) && factor > 0, invalid_argument, "dft: factor ", factor,
                    "; expected a positive number");
  const std::vector<std::uint32_t> halves = half_lengths(direction, slots);
  const bool fits = std::accumulate(groups.begin(), groups.end(), std::size_t{0}) == halves.size() &&
                    (halves.empty() || std::find(groups.begin() + 1, groups.end(), 0U) == groups.end());
  HALOCLINE_EXPECTS(fits, invalid_argument, "dft: ", groups.size(), " matrices for ", slots,
                    " slots; expected positive numbers of stages, or none in the first matrix, that sum to ",
                    halves.size());
  const std::vector<complex> share(slots, std::pow(factor, 1.0 / static_cast<double>(groups.size())));
  std::vector<diagonal_map> result;
  auto next = halves.begin();
  for (const unsigned count : groups) {
    diagonal_map matrix{{0, std::vector<complex>(slots, 1.0)}};
    for (unsigned i = 0; i < count; ++i) matrix = product(stage(direction, slots, *next++), matrix, slots);
    scale_rows(matrix, share);
    result.push_back(std::move(matrix));
  }
  return result;
}

std::int64_t rotation_behind(dft_direction direction, std::span<const unsigned> stages, std::size_t matrix) {
  if (matrix + 1 == stages.size()) return 0;
  const auto done = stages.begin() + static_cast<std::ptrdiff_t>(matrix) + 1;
  if (direction == dft_direction::slot_to_coeff) {
    return std::int64_t{1} << std::accumulate(stages.begin(), done, 0U);
  }
  // All slots are no rotation: where the first matrix has no stages.
  const bool all = std::all_of(stages.begin(), done, [](unsigned each) { return each == 0; });
  return all ? 0 : -(std::int64_t{1} << std::accumulate(done, stages.end(), 0U));
}

diagonal_map doubled(const diagonal_map& matrix) {
  diagonal_map result = matrix;
  for (auto& [index, diagonal] : result) {
    const std::vector<complex>& half = matrix.at(index);
    diagonal.insert(diagonal.end(), half.begin(), half.end());
  }
  return result;
}

void scale_rows(diagonal_map& matrix, std::span<const complex> rows) {
  for (auto& [index, diagonal] : matrix) {
    for (std::size_t i = 0; i < diagonal.size(); ++i) diagonal[i] *= rows[i];
  }
}

void scale_columns(diagonal_map& matrix, std::span<const complex> columns) {
  for (auto& [index, diagonal] : matrix) {
    const auto slots = static_cast<std::uint32_t>(diagonal.size());
    for (std::uint32_t i = 0; i < slots; ++i) diagonal[i] *= columns[wrap(std::int64_t{i} + index, slots)];
  }
}

std::uint32_t bit_reversed(std::uint32_t index, std::uint32_t count) noexcept {
  std::uint32_t result = 0;
  for (std::uint32_t bit = 1; bit < count; bit *= 2, index /= 2) result = 2 * result + index % 2;
  return result;
}

}  // namespace halocline::circuits

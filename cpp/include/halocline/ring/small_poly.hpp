// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/backend/descriptors.hpp"
#include "halocline/ring/context.hpp"
#include "halocline/ring/sampler.hpp"

/// Secret and error polynomials on their way from the sampler to residues.
namespace halocline::ring {

/// Coefficients of a secret or error polynomial on the host; zeroed on destruction.
class small_coefficients {
 public:
  explicit small_coefficients(std::size_t n) : values_(n) {}
  ~small_coefficients();
  small_coefficients(const small_coefficients&) = delete;
  small_coefficients& operator=(const small_coefficients&) = delete;

  /// The coefficients, N of them.
  [[nodiscard]] std::span<std::int64_t> values() noexcept { return values_; }

 private:
  std::vector<std::int64_t> values_;
};

/// Copies coefficients into a buffer that is zeroed when freed.
[[nodiscard]] memory::buffer upload_small(context& ring, small_coefficients& source, const char* tag);

/// N fresh coefficients, signed 64-bit, in a buffer that is zeroed when freed. Their seed is used once, and
/// its copies are zeroed when this returns.
/// @param table discrete Gaussian with this table (`gaussian_table`); nullptr: uniform ternary
[[nodiscard]] memory::buffer draw_small(context& ring, random_source& random, const memory::buffer* table,
                                        const char* tag);

/// dst = residues of `coefficients`, in NTT form. Several views may be parts of one polynomial.
void expand_small(context& ring, const memory::buffer& coefficients, std::span<const backend::limb_view> dst);

}  // namespace halocline::ring

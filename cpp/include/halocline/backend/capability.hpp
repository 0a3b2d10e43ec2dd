// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace halocline::backend {

/// The ring-level operations, in the order of the support table.
enum class op_kind : std::uint8_t {
  ntt,
  intt,
  add,
  sub,
  negate,
  multiply,
  multiply_add,
  dot,
  tensor,
  scalar_multiply,
  scalar_add,
  linear_combine,
  ntt_linear_combine,
  automorphism,
  base_convert,
  key_multiply_accumulate,
  encode_expand,
  sample_uniform,
  sample_small,
  slot_transform,
  round_coefficients,
  lift,
  copy,
  set_zero,
  upload,
  download,
};

/// Number of values of `op_kind`.
inline constexpr std::size_t op_kind_count = 26;

/// Name of an operation as in the interface and in traces.
[[nodiscard]] std::string_view to_string(op_kind op) noexcept;

/// What a backend runs on.
struct capability {
  std::string device;  ///< readable: "CPU (AVX3), 2 threads"
  std::string simd;    ///< instruction set chosen at run time, empty where meaningless
  unsigned threads = 1;
  std::size_t memory_bytes = 0;  ///< physical size of the fast tier
  /// Cache shared by all units, where operations gain from finding their operands in it; 0 otherwise.
  std::size_t cache_bytes = 0;
};

}  // namespace halocline::backend

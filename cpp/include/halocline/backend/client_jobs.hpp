// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/backend/descriptors.hpp"

/// Batch descriptors of the operations on messages and secrets outside the residue form: sampling, encoding,
/// decoding.
namespace halocline::backend {

/// dst = N small signed 64-bit integers of a private stream (see `arith/small_stream.hpp`).
struct small_job {
  const memory::buffer* dst = nullptr;
  /// 32 bytes. In a buffer, and one that is wiped when freed: job descriptions may be recorded.
  const memory::buffer* seed = nullptr;
  std::uint32_t stream = 0;
  /// Gaussian with this cumulative table, 64-bit words (`ring::gaussian_table`); uniform ternary without.
  const memory::buffer* table = nullptr;
};

/// Which way a slot transform goes.
enum class slot_direction : std::uint8_t { to_coefficients, to_slots };

/// The special FFT between n = 2^log_slots complex slots and 2n real coefficients (see `arith/slot_fft.hpp`).
struct slot_job {
  slot_direction direction = slot_direction::to_coefficients;
  const memory::buffer* slots = nullptr;         ///< complex doubles; the missing ones are 0
  std::uint32_t count = 0;                       ///< slots that are there, n at most; n in direction to_slots
  const memory::buffer* coefficients = nullptr;  ///< 2n doubles; n times the coefficients when written;
                                                 ///< destroyed in direction to_slots
  const memory::buffer* table = nullptr;         ///< factors and places of n slots
  unsigned log_slots = 0;
};

/// dst[j N / count] = factor * src[j] rounded to nearest, ties to even, and 0 elsewhere; dst[j] where only
/// those that are not 0 by definition are wanted.
struct round_job {
  const memory::buffer* src = nullptr;  ///< doubles
  std::uint32_t count = 0;              ///< power of two, N at most
  double factor = 1.0;
  const memory::buffer* dst = nullptr;  ///< N signed integers of `words` words; nullptr: no rounding
  unsigned words = 1;                   ///< 1 or 2 64-bit words, low word first
  double bound = 0.0;                   ///< no |factor * src[j]| exceeds it; below 2^62, 2^126 for two words
  const memory::buffer* largest = nullptr;  ///< one double: the largest |src[j]|; nullptr: not wanted
  bool dense = false;                       ///< dst has `count` integers
};

/// dst[c] = the integer of least magnitude with the residues of coefficient c * stride, divided by `scale`
/// (see `arith/coefficient_math.hpp`).
struct lift_job {
  limb_view src;                        ///< coefficient form; destroyed
  const memory::buffer* dst = nullptr;  ///< doubles
  std::uint32_t count = 0;
  std::uint32_t stride = 1;
  double scale = 1.0;
  const memory::buffer* table = nullptr;  ///< `arith::elimination` for the primes of `src`, last one first;
                                          ///< nullptr for a single prime
  /// One 64-bit word: not 0 when a mixed radix digit of the first prime of `src` is not 0, and `dst` is then
  /// unspecified. nullptr: not wanted.
  const memory::buffer* overflow = nullptr;
};

}  // namespace halocline::backend

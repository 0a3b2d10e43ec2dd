// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// How the production transform is cut into blocks, per architecture.
namespace halocline::backend::cuda {

/// Arithmetic of the kernels for 64-bit words in rings of 2^14 and 2^15; other rings have `exact` ones only.
enum class ntt_form : std::uint8_t {
  exact,  ///< 8 words per thread, any primes
  lean,   ///< 8 words per thread, primes below 2^lean_bits (ntt_lean.cuh), twiddles of rows in shared memory
  wide,   ///< the same with 16 words per thread
};
inline constexpr unsigned lean_bits = 56;

/// Shape of the kernels of one transform.
struct ntt_choice {
  std::uint8_t log_columns;   ///< columns kernel: neighbouring columns per block
  std::uint16_t row_threads;  ///< rows kernel: threads per polynomial of a block
  std::uint8_t polys;         ///< rows kernel: polynomials that share a block and its twiddles
  bool near_twiddles;         ///< rows kernel: twiddles through shared memory, for N = 2^14 to 2^16
  /// Both phases in one kernel (32 bits, N = 2^16): number of blocks of the first phase, in units of 64,
  /// before blocks of both phases take turns; 0: two kernels.
  std::uint8_t lead = 0;
  ntt_form form = ntt_form::exact;
};

/// A row applies when all its bounds hold; the first that applies counts.
struct ntt_tuning_row {
  int architecture;  ///< 90: compute capability 9.0; 0: any
  unsigned word_bits;
  unsigned log_n_min, log_n_max;
  std::size_t limbs_min;  ///< limbs of all polynomials of the batch, at least
  ntt_choice choice;
};

inline constexpr ntt_tuning_row ntt_tuning[] = {
    // sm_90: measured on one H200 at N = 2^16 (halocline_ntt_bench --tune, before commit 99153a3; see
    // docs/concepts/cuda_ntt.md). Microseconds per 32-bit polynomial, from one buffer to another in a graph,
    // two kernels in brackets. 47 limbs in a batch of 8: 14.3 (15.1).
    {90, 32, 4, 17, 300, {4, 64, 2, true, 8}},
    // 23 limbs in a batch of 8: 6.9 (7.4).
    {90, 32, 4, 17, 150, {4, 64, 4, true, 8}},
    // 47 limbs, 2 of them: 16.0 (16.0), with changing buffers 16.7 (17.7).
    {90, 32, 4, 17, 80, {4, 64, 2, true, 10}},
    // 47 limbs alone: 15.9; 23 limbs, 2 of them: 7.5.
    {90, 32, 4, 17, 40, {4, 64, 2, true}},
    // 23 limbs alone: 9.9 where both kernels prefer shared memory (`prefer_shared`), otherwise 13.1.
    {90, 32, 4, 17, 0, {4, 64, 1, true}},
    // 64 bits, N = 2^14 and 2^15: nanoseconds of a limb, forward / inverse, in a graph on one H200
    // (halocline_ntt_bench --forms, commit 93bee134); `exact` with the same shape in brackets. 2^15, 128
    // limbs: 377 / 407 (459 / 473). The 72 limbs of a MulLinRS alone are faster with `lean`: 128 against 137
    // us for all of it (--routine).
    {90, 64, 15, 15, 100, {3, 64, 4, true, 0, ntt_form::wide}},
    // 2^15, 1 limb: 4251 / 4333 (4541 / 4672), 8: 1201 / 1310 (1328 / 1454), 16: 927 / 1028 (1041 / 1107),
    // 64: 427 / 456 (488 / 504); 2^14, 8 limbs: 701 / 754, 128: 199 / 217.
    {90, 64, 14, 15, 0, {3, 64, 4, true, 0, ntt_form::lean}},
    // 64-bit polynomials of 28 limbs: 27.8 / 29.1 (4), 26.8 / 27.7 (8); next 28.1 / 30.0 (2); last 30.6
    // / 33.7.
    {90, 64, 4, 17, 100, {3, 64, 4, true}},
    {90, 64, 4, 17, 50, {3, 64, 2, false}},
    {90, 64, 4, 17, 0, {3, 128, 1, false}},
    // sm_80 and others: not measured.
    {80, 32, 4, 17, 96, {4, 128, 2, false}},
    {80, 32, 4, 17, 0, {4, 128, 1, false}},
    {80, 64, 4, 17, 48, {3, 128, 2, false}},
    {80, 64, 4, 17, 0, {3, 128, 1, false}},
    {0, 32, 4, 17, 0, {4, 128, 1, false}},
    {0, 64, 4, 17, 0, {3, 128, 1, false}},
};

/// Largest ring that one kernel transforms; larger ones take columns, then rows of 2^8 words.
inline constexpr unsigned one_kernel_log_n = 12;
/// Stages of the rows kernel of larger rings.
inline constexpr unsigned row_stages = 8;
/// Most threads of a block: with at most 128 registers each, a block always fits.
inline constexpr unsigned most_ntt_threads = 512;
/// The same for the rows kernels of N = 2^16.
inline constexpr unsigned most_row_threads = 256;

/// Words per thread, as a power of two: 16 words of 32 bits, 8 of 64.
[[nodiscard]] constexpr unsigned ntt_log_words(unsigned word_bits) { return word_bits == 32 ? 4 : 3; }

/// The same shape with blocks of no more than `most_ntt_threads`.
[[nodiscard]] constexpr ntt_choice fitted(ntt_choice choice, unsigned log_words, unsigned log_n) {
  if (log_n <= one_kernel_log_n) {
    choice.row_threads = static_cast<std::uint16_t>(1U << (log_n - log_words));
  } else {
    while ((1U << (log_n - row_stages - log_words + choice.log_columns)) > most_ntt_threads)
      --choice.log_columns;
  }
  while (choice.polys > 1 && choice.polys * choice.row_threads > most_row_threads) --choice.polys;
  return choice;
}

/// Shape for a batch.
[[nodiscard]] constexpr ntt_choice choose_ntt(int architecture, unsigned word_bits, unsigned log_n,
                                              std::size_t limbs) {
  for (const ntt_tuning_row& row : ntt_tuning) {
    if ((row.architecture == architecture || row.architecture == 0) && row.word_bits == word_bits &&
        log_n >= row.log_n_min && log_n <= row.log_n_max && limbs >= row.limbs_min)
      return fitted(row.choice, ntt_log_words(word_bits), log_n);
  }
  return fitted({3, 128, 1, false}, ntt_log_words(word_bits), log_n);
}

/// Whether 64-bit words have the kernels of `ntt_form` in rings of this size.
[[nodiscard]] constexpr bool has_forms(unsigned log_n) { return log_n == 14 || log_n == 15; }

/// The choice that all primes of a ring allow.
template <typename PrimesT>
[[nodiscard]] constexpr ntt_choice allowed(ntt_choice choice, const PrimesT& primes) {
  for (const auto prime : primes) {
    if (prime >> lean_bits != 0) choice.form = ntt_form::exact;
  }
  return choice;
}

}  // namespace halocline::backend::cuda

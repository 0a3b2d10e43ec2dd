// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/device/launcher.hpp"
#include "backend/cuda/ntt/ntt_params.hpp"
#include "backend/cuda/ntt/ntt_tuning.hpp"

/// Transforms of 64-bit words in rings of 2^14 and 2^15, in the forms of `ntt_form`.
namespace halocline::backend::cuda {

/// Runs a batch of a ring that `has_forms`; the first phase reduces limbs modulo other primes where `sources`
/// says so.
template <bool inverse, unsigned sources, typename ParamsT>
void run_form(const launcher& launch, const ntt_choice& choice, ParamsT& params);

/// For benchmarks and tests: the choice for all batches of 64-bit words; nullptr: the table's. Not
/// thread-safe.
void override_ntt(const ntt_choice* choice) noexcept;
[[nodiscard]] const ntt_choice* overridden_ntt() noexcept;

/// The choice for a batch of `limbs` limbs.
template <typename ResolverT>
[[nodiscard]] ntt_choice choice_of(const launcher& on, unsigned word_bits, const ResolverT& resolve,
                                   std::size_t limbs) {
  const int architecture = on.device().architecture();
  if (word_bits != 64) return choose_ntt(architecture, word_bits, resolve.log_n(), limbs);
  const ntt_choice* const wanted = overridden_ntt();
  const ntt_choice choice = wanted != nullptr ? fitted(*wanted, ntt_log_words(word_bits), resolve.log_n())
                                              : choose_ntt(architecture, word_bits, resolve.log_n(), limbs);
  return allowed(choice, resolve.ring().primes);
}

}  // namespace halocline::backend::cuda

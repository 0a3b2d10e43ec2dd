// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/cuda/device/launcher.hpp"
#include "halocline/arith/modulus.hpp"

/// Forward transforms in the variants that the XeHE paper compares ("Accelerating encrypted computing on
/// Intel GPUs", section V-B), all with the production kernel's arithmetic, so that a benchmark shows what
/// each step gains. The library uses the production kernel only.
namespace halocline::bench {

/// From the slowest idea to the fastest.
enum class ntt_variant : std::uint8_t {
  naive,       ///< radix 2, one kernel per stage through device memory, one more for the last reduction
  shuffle,     ///< the same until 2048 words fit a block, then shared memory, then exchanges within a warp
  radix4,      ///< radix-4 kernels until 4096 words fit a block, then radix-4 rounds in shared memory
  radix8,      ///< likewise
  radix16,     ///< likewise
  production,  ///< `ntt_launch.hpp`
};
/// All of them.
inline constexpr ntt_variant ntt_variants[] = {ntt_variant::naive,   ntt_variant::shuffle,
                                               ntt_variant::radix4,  ntt_variant::radix8,
                                               ntt_variant::radix16, ntt_variant::production};
/// "naive", ...
[[nodiscard]] std::string_view to_string(ntt_variant variant) noexcept;
/// How often the variant reads and writes all data.
[[nodiscard]] unsigned ntt_passes(ntt_variant variant, unsigned log_n) noexcept;

/// One-limb polynomials one after another; polynomial i is modulo prime i mod `primes`, and `count` is a
/// multiple of `primes`.
template <typename WordT>
struct ntt_family_batch {
  const arith::modulus<WordT>* moduli = nullptr;
  const WordT* roots = nullptr;  ///< as `ring_tables::roots`
  WordT* data = nullptr;         ///< transformed in place
  std::uint32_t log_n = 0;       ///< at least 12
  std::uint32_t count = 0;
  std::uint32_t primes = 1;
};

/// Forward transforms of a batch.
template <typename WordT>
void run_ntt_variant(const backend::cuda::launcher& launch, ntt_variant variant,
                     const ntt_family_batch<WordT>& batch);

}  // namespace halocline::bench

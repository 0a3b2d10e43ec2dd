// SPDX-License-Identifier: Apache-2.0
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/client_kernels.hpp"
#include "backend/cpu/parallel.hpp"
#include "halocline/arith/gaussian_inversion.hpp"
#include "halocline/arith/small_stream.hpp"

namespace halocline::backend::cpu {
namespace {

/// Coefficients that are drawn together: their random words stay in the first-level cache.
constexpr std::size_t batch = 512;

/// The stream of one job.
struct small_stream {
  const std::uint8_t* seed;
  std::uint32_t stream;
  std::span<const std::uint64_t> table;  ///< empty: ternary
};

/// Words [first, first + words.size()) of 32 or 64 bits of a key stream; `first` begins a block.
template <typename T>
void key_stream(const small_stream& from, std::uint32_t domain, std::size_t first, std::span<T> words) {
  std::array<std::uint8_t, crypto_stream_chacha20_ietf_NONCEBYTES> nonce{};
  for (int i = 0; i < 4; ++i) {
    nonce[i] = static_cast<std::uint8_t>(from.stream >> (8 * i));
    nonce[4 + i] = static_cast<std::uint8_t>(domain >> (8 * i));
  }
  auto* const bytes = reinterpret_cast<unsigned char*>(words.data());
  std::memset(bytes, 0, words.size_bytes());
  crypto_stream_chacha20_ietf_xor_ic(bytes, bytes, words.size_bytes(), nonce.data(),
                                     static_cast<std::uint32_t>(first * sizeof(T) / 64), from.seed);
}

void sample_ternary(const small_stream& from, std::size_t first, std::span<std::int64_t> out) {
  std::array<std::uint32_t, batch> words;
  key_stream(from, arith::ternary_domain, first, std::span(words.data(), out.size()));
  std::uint32_t all = 1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint32_t accepted = arith::ternary_accepted(words[i]);
    all &= accepted != 0 ? 1U : 0U;
    out[i] = arith::ternary_value(words[i], accepted);
  }
  for (std::size_t i = 0; all == 0 && i < out.size(); ++i) {  // once in 2^32 coefficients
    if (arith::ternary_accepted(words[i]) != 0) continue;
    out[i] = arith::ternary_coefficient(arith::make_chacha_key(from.seed), from.stream, first + i, 1);
  }
  sodium_memzero(words.data(), sizeof(words));
}

void sample_gaussian(const small_stream& from, std::size_t first, std::span<std::int64_t> out) {
  std::array<std::uint64_t, batch> words;
  const std::span<std::uint64_t> used(words.data(), out.size());
  key_stream(from, arith::gaussian_domain, first, used);
  arith::gaussian_values(from.table, used, out.data());
  sodium_memzero(words.data(), sizeof(words));
}

/// The definition.
void sample_each(const small_stream& from, std::size_t first, std::span<std::int64_t> out) {
  arith::chacha_key key = arith::make_chacha_key(from.seed);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = from.table.empty() ? arith::ternary_coefficient(key, from.stream, first + i)
                                : arith::gaussian_coefficient(key, from.stream, first + i, from.table.data(),
                                                              from.table.size());
  }
  sodium_memzero(&key, sizeof(key));
}

}  // namespace

void run_sample_small(const client_site& on, std::span<const small_job> jobs) {
  const std::size_t n = on.ring.n();
  const std::size_t size = std::min(batch, n);
  const std::size_t chunks = n / size;
  constexpr std::size_t weight = 8;  // a coefficient costs as much as that many words of an elementwise sum
  parallel_for(on.pool, jobs.size() * chunks, weight * jobs.size() * n, [&](std::size_t i) {
    const small_job& job = jobs[i / chunks];
    small_stream from{reinterpret_cast<const std::uint8_t*>(on.at.pointer(*job.seed)), job.stream, {}};
    if (job.table != nullptr) {
      from.table = {reinterpret_cast<const std::uint64_t*>(on.at.pointer(*job.table)),
                    job.table->size() / sizeof(std::uint64_t)};
    }
    const std::size_t first = (i % chunks) * size;
    const std::span<std::int64_t> out(reinterpret_cast<std::int64_t*>(on.at.pointer(*job.dst)) + first, size);
    if (on.scalar) {
      sample_each(from, first, out);
    } else if (from.table.empty()) {
      sample_ternary(from, first, out);
    } else {
      sample_gaussian(from, first, out);
    }
  });
}

}  // namespace halocline::backend::cpu

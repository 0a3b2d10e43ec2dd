// SPDX-License-Identifier: Apache-2.0
#include "memory/tier/page_checksums.hpp"

#include <sodium.h>

#include "halocline/core/expects.hpp"
#include "memory/tier/pages.hpp"

// With this header the library chooses SSE2, AVX2 or AVX-512 when it runs; other processors have one variant.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace halocline::memory {

static_assert(XXH3_SECRET_SIZE_MIN <= 192);

page_checksums::page_checksums() {
  HALOCLINE_EXPECTS(sodium_init() >= 0, io_error, "file tier: the system gives no random numbers");
  randombytes_buf(secret_.data(), secret_.size());
}

std::uint64_t page_checksums::sum_of(const std::byte* page) const noexcept {
  const std::uint64_t sum = XXH3_64bits_withSecret(page, page_bytes, secret_.data(), secret_.size());
  return sum == 0 ? 1 : sum;  // 0 means never written
}

void page_checksums::note(const std::byte* data, std::size_t bytes, std::uint64_t* sums) const noexcept {
  for (std::size_t at = 0; at < bytes; at += page_bytes) sums[at / page_bytes] = sum_of(data + at);
}

std::optional<std::size_t> page_checksums::first_wrong(const std::byte* data, std::size_t bytes,
                                                       const std::uint64_t* sums) const noexcept {
  for (std::size_t at = 0; at < bytes; at += page_bytes) {
    if (sums[at / page_bytes] != sum_of(data + at)) return at;
  }
  return std::nullopt;
}

}  // namespace halocline::memory

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace halocline::memory {

/// 64-bit checksums of pages of 4096 bytes: XXH3 (Y. Collet, xxHash 0.8) with a random secret of its own for
/// each object, which never leaves the process. A page is the unit of transfers, so any part of a slot can be
/// checked without reading more of it. Chance lets a wrong page pass with probability 2^-64, also when a
/// program changes it that has neither the secret nor the checksums. XXH3 is not a message authentication
/// code: an attacker who reads the memory of the process can forge pages.
class page_checksums {
 public:
  page_checksums();

  /// Notes the checksums of `bytes` bytes (whole pages) in `sums`, one per page; none is 0.
  void note(const std::byte* data, std::size_t bytes, std::uint64_t* sums) const noexcept;
  /// Offset of the first page that does not have its checksum; nothing when all have. A page whose checksum
  /// is 0 was never written and does not pass.
  [[nodiscard]] std::optional<std::size_t> first_wrong(const std::byte* data, std::size_t bytes,
                                                       const std::uint64_t* sums) const noexcept;

 private:
  [[nodiscard]] std::uint64_t sum_of(const std::byte* page) const noexcept;

  std::array<unsigned char, 192> secret_{};
};

}  // namespace halocline::memory

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "halocline/core/error.hpp"
#include "support/container_samples.hpp"

namespace halocline::io {
namespace {

using test::byte_vector;

/// Damages bytes in one of the ways files get damaged.
class damager {
 public:
  explicit damager(std::uint32_t seed) : random_(seed) {}

  [[nodiscard]] std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  void damage(byte_vector& bytes, const byte_vector& other) {
    switch (below(7)) {
      case 0:
        flip_bits(bytes, 0, bytes.size());
        break;
      case 1:
        flip_bits(bytes, 0, std::min(bytes.size(), header_bytes));
        break;
      case 2:
        flip_bits(bytes, bytes.size() - std::min<std::size_t>(bytes.size(), 200), bytes.size());
        break;
      case 3:
        bytes.resize(below(bytes.size() + 1));
        break;
      case 4:
        bytes.resize(bytes.size() + 1 + below(9000), static_cast<std::byte>(below(2)));
        break;
      case 5:
        splice(bytes, other);
        break;
      default:
        overwrite(bytes);
        break;
    }
  }

 private:
  void flip_bits(byte_vector& bytes, std::size_t first, std::size_t end) {
    for (std::size_t flips = 1 + below(4); flips > 0 && first < end; --flips) {
      bytes[first + below(end - first)] ^= std::byte{1} << below(8);
    }
  }

  /// A stretch of another valid container replaces a stretch of this one.
  void splice(byte_vector& bytes, const byte_vector& other) {
    if (bytes.empty()) return;
    const std::size_t unit = below(2) == 0 ? 1 : section_alignment;
    const std::size_t from = below(other.size()) / unit * unit;
    const std::size_t to = below(bytes.size()) / unit * unit;
    const std::size_t count =
        std::min(1 + below(3 * section_alignment), std::min(other.size() - from, bytes.size() - to));
    std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), count,
                bytes.begin() + static_cast<std::ptrdiff_t>(to));
  }

  /// A number field becomes zero, tiny, or enormous.
  void overwrite(byte_vector& bytes) {
    if (bytes.size() < 8) return;
    constexpr std::array<std::uint64_t, 6> values{
        0, 1, 4096, 0xffffffff, std::uint64_t{1} << 63, ~std::uint64_t{0}};
    const std::size_t tail = std::min<std::size_t>(bytes.size(), 200);
    const std::size_t at =
        below(2) == 0 ? below(std::min(bytes.size(), header_bytes)) : bytes.size() - 1 - below(tail);
    const std::uint64_t value = values[below(values.size())];
    std::memcpy(bytes.data() + std::min(at / 4 * 4, bytes.size() - 8), &value, 8);
  }

  std::mt19937 random_;
};

struct content {
  object_kind kind;
  fingerprint parameters;
  std::vector<std::pair<section_id, byte_vector>> sections;

  bool operator==(const content&) const = default;
};

[[nodiscard]] content read_everything(const byte_vector& bytes) {
  const auto reader = container_reader::over(bytes);
  content out{reader.kind(), reader.parameters(), {}};
  for (const section& each : reader.sections()) {
    out.sections.emplace_back(each.id, reader.read_all(each, each.bytes));
  }
  return out;
}

constexpr std::array<std::size_t, 4> sizes{1, 4096, 5000, block_bytes + 7};
constexpr std::array<std::size_t, 3> other_sizes{4096, 4096, 12'000};

// Whatever accident happens to a file: either it is noticed, or the content is what was written.
TEST(ContainerCorruption, IsNoticedOrHarmless) {
  const byte_vector valid = test::sample_container(sizes, 1);
  const byte_vector other = test::sample_container(other_sizes, 2);
  const content expected = read_everything(valid);
  std::size_t noticed = 0;
  constexpr std::uint32_t trials = 6000;
  for (std::uint32_t trial = 0; trial < trials; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    damager damager(trial);
    byte_vector bytes = valid;
    damager.damage(bytes, other);
    try {
      EXPECT_TRUE(read_everything(bytes) == expected);
    } catch (const corrupt_data&) {
      ++noticed;
    }
  }
  EXPECT_GT(noticed, trials * 9 / 10);
}

// A forger can make all checksums right again. Then what is accepted has at least a valid layout: it can be
// read completely and comes back byte for byte.
TEST(ContainerCorruption, ForgedContainersAreRefusedOrConsistent) {
  const byte_vector valid = test::sample_container(sizes, 1);
  const byte_vector other = test::sample_container(other_sizes, 2);
  for (std::uint32_t trial = 0; trial < 6000; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    damager damager(trial);
    byte_vector bytes = valid;
    for (std::size_t times = 1 + damager.below(3); times > 0; --times) damager.damage(bytes, other);
    test::reseal(bytes);
    try {
      EXPECT_TRUE(test::rewrite(container_reader::over(bytes)) == bytes);
    } catch (const corrupt_data&) {
      continue;
    }
  }
}

}  // namespace
}  // namespace halocline::io

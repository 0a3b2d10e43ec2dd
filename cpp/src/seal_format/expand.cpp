// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal_format/expand.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "halocline/seal_format/blake2.hpp"
#include "halocline/seal_format/keccak.hpp"

namespace halocline::seal_format {
namespace {

/// The byte stream of a seed.
class seed_stream {
 public:
  explicit seed_stream(const seed& from) : seed_(from) {}

  void fill(std::span<std::uint64_t> words) {
    std::span<std::byte> rest = std::as_writable_bytes(words);
    while (!rest.empty()) {
      if (used_ == block_.size()) next_block();
      const std::size_t count = std::min(rest.size(), block_.size() - used_);
      std::memcpy(rest.data(), block_.data() + used_, count);
      used_ += count;
      rest = rest.subspan(count);
    }
  }
  std::uint64_t word() {
    std::uint64_t value = 0;
    fill({&value, 1});
    return value;
  }

 private:
  void next_block() {
    std::array<std::uint8_t, 72> input;  // seed and counter
    std::copy(seed_.bytes.begin(), seed_.bytes.end(), input.begin());
    std::memcpy(input.data() + 64, &counter_, sizeof counter_);
    if (seed_.kind == seed_kind::blake2xb) {
      blake2xb(block_, std::span(input).subspan(64), seed_.bytes);
    } else {
      shake256(block_, input);
    }
    ++counter_;
    used_ = 0;
  }

  const seed& seed_;
  std::uint64_t counter_ = 0;
  std::array<std::uint8_t, 4096> block_;
  std::size_t used_ = 4096;
};

}  // namespace

void append_expanded(const seed& from, std::span<const std::uint64_t> primes, std::uint64_t n,
                     std::vector<std::uint64_t>& to) {
  const std::size_t begin = to.size();
  to.resize(begin + primes.size() * n);
  const std::span<std::uint64_t> words = std::span(to).subspan(begin);
  seed_stream stream(from);
  stream.fill(words);
  for (std::size_t i = 0; i < primes.size(); ++i) {
    const std::uint64_t q = primes[i];
    const std::uint64_t end = ~std::uint64_t{0} - ~std::uint64_t{0} % q - 1;
    for (std::uint64_t& word : words.subspan(i * n, n)) {
      while (word >= end) word = stream.word();
      word %= q;
    }
  }
}

}  // namespace halocline::seal_format

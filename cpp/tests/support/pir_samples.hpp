// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "halocline/pir/client.hpp"

/// Small schemes and hand-made answers of private retrieval.
namespace halocline::test {

/// A scheme that is fast and not secure: N = 1024.
[[nodiscard]] inline pir::literal small_literal() {
  return {.name = "test-n1024", .log_n = 10, .prime_count = 2, .plain_bits = 8, .allow_insecure = true};
}

[[nodiscard]] inline pir::geometry small_geometry(std::uint64_t records = 64,
                                                  std::uint64_t record_bytes = 1024,
                                                  const pir::literal& source = small_literal()) {
  return pir::make_geometry(pir::parameters::from_literal(source), records, record_bytes);
}

/// Random second components of an answer: N words.
[[nodiscard]] inline std::vector<std::uint64_t> random_words(const pir::geometry& of, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(of.scheme.n());
  for (std::uint64_t& each : words) each = random() >> (64 - of.at.answer_bits1);
  return words;
}

/// Words of one plane of an answer that decodes to `messages`, residues modulo t, where `noise[j]` is what
/// the phase of coefficient j has besides, in units of 2^-64. Integers only: with c1 = `second`, c0 is
/// message / t + noise - c1 s / 2^bits1, rounded to bits0.
[[nodiscard]] inline std::vector<std::uint64_t> make_answer_words(const pir::geometry& of,
                                                                  std::span<const std::int64_t> secret,
                                                                  std::span<const std::uint64_t> messages,
                                                                  std::span<const std::int64_t> noise,
                                                                  std::span<const std::uint64_t> second) {
  const std::size_t n = of.scheme.n();
  const unsigned bits0 = of.at.answer_bits0, bits1 = of.at.answer_bits1;
  std::vector<std::uint64_t> words(n), product(n);
  for (std::size_t i = 0; i < n; ++i) {  // schoolbook, modulo X^N + 1 and 2^64
    for (std::size_t j = 0; j < n; ++j) {
      const std::uint64_t term = second[j] * static_cast<std::uint64_t>(secret[i]);
      product[(i + j) % n] += i + j < n ? term : 0 - term;
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    const std::uint64_t wanted =
        (messages[j] << (64 - of.scheme.source().plain_bits)) + static_cast<std::uint64_t>(noise[j]);
    const std::uint64_t first = wanted - (product[j] << (64 - bits1));
    words[j] = (first + (std::uint64_t{1} << (63 - bits0))) >> (64 - bits0);
  }
  words.insert(words.end(), second.begin(), second.end());
  return words;
}

}  // namespace halocline::test

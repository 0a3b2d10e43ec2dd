// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/io/checksum.hpp"
#include "halocline/pir/messages.hpp"
#include "pir/client_core.hpp"

/// Messages of private retrieval without a client, and what must hold for any bytes given as one.
namespace halocline::test {

/// Random residues below the primes.
[[nodiscard]] inline std::vector<std::uint32_t> random_residues(const pir::parameters& of,
                                                                std::size_t polynomials, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> out;
  for (std::size_t limb = 0; limb < polynomials * of.primes().size(); ++limb) {
    const std::uint64_t prime = of.primes()[limb % of.primes().size()];
    for (std::size_t j = 0; j < of.n(); ++j) out.push_back(static_cast<std::uint32_t>(random() % prime));
  }
  return out;
}

[[nodiscard]] inline pir::server_keys_message sample_keys(const pir::geometry& of, std::uint64_t seed = 1) {
  const std::uint32_t levels = of.at.expansion_depth(of.scheme);
  const std::size_t rows =
      (levels * of.at.expansion.digits + of.at.secret.digits) * of.scheme.primes().size();
  return {pir::key_shape_of(of), {1, 2, 3}, levels, {4, 5, 6}, random_residues(of.scheme, rows, seed),
          {{}, {13, 14}}};
}

[[nodiscard]] inline pir::query_message sample_query(const pir::geometry& of, std::uint64_t seed = 2) {
  return {pir::fingerprint_of(of), {1, 2, 3}, {7, 8, 9}, random_residues(of.scheme, 1, seed)};
}

[[nodiscard]] inline pir::answer_message sample_answer(const pir::geometry& of, std::uint64_t seed = 3) {
  std::mt19937_64 random(seed);
  pir::answer_message made{pir::fingerprint_of(of), {1, 2, 3}, {10, 11, 12}, {{15}, {16}}, {}};
  const std::size_t n = of.scheme.n();
  for (std::size_t i = 0; i < 2 * of.planes() * n; ++i) {
    made.words.push_back(random() >> (64 - (i / n % 2 == 0 ? of.at.answer_bits0 : of.at.answer_bits1)));
  }
  return made;
}

/// Makes the checksum of a message right.
inline void reseal_message(std::vector<std::byte>& bytes) {
  if (bytes.size() < 8) return;
  const std::uint64_t checksum = io::checksum64(std::span(bytes).first(bytes.size() - 8));
  std::memcpy(bytes.data() + bytes.size() - 8, &checksum, sizeof checksum);
}

/// Reads bytes as each of the messages; aborts unless what is accepted comes back byte for byte.
/// @return how many readers accepted them
inline int check_message_bytes(const pir::geometry& of, std::span<const std::byte> bytes) {
  int accepted = 0;
  const auto check = [&](const auto& read, const auto& write) {
    try {
      const std::vector<std::byte> again = write(of, read(of, bytes));
      if (again.size() != bytes.size() || std::memcmp(again.data(), bytes.data(), again.size()) != 0) {
        std::abort();
      }
      ++accepted;
    } catch (const corrupt_data&) {
    } catch (const invalid_argument&) {
    }
  };
  check(pir::read_server_keys, pir::write_server_keys);
  check(pir::read_query, pir::write_query);
  check(pir::read_answer, pir::write_answer);
  return accepted;
}

/// Reads bytes as a secret into a client that is there; aborts unless what is accepted comes back byte for
/// byte.
[[nodiscard]] inline bool check_secret_bytes(pir::client_core& into, std::span<const std::byte> bytes) {
  try {
    pir::read_secret(into, bytes);
  } catch (const corrupt_data&) {
    return false;
  } catch (const invalid_argument&) {
    return false;
  }
  const std::vector<std::byte> again = pir::write_secret(into);
  if (again.size() != bytes.size() || std::memcmp(again.data(), bytes.data(), again.size()) != 0)
    std::abort();
  return true;
}

/// A geometry with messages of a few KiB. Its layout is written out, so that the committed seeds stay valid.
[[nodiscard]] inline const pir::geometry& fuzzed_geometry() {
  static const auto& made = *new pir::geometry([] {
    const auto scheme = pir::parameters::from_literal({.name = "test-fuzz",
                                                       .log_n = 10,
                                                       .prime_count = 2,
                                                       .prime_bits = 20,
                                                       .plain_bits = 4,
                                                       .allow_insecure = true});
    return pir::geometry{scheme, {1, 1, scheme.split(2), scheme.split(1), scheme.split(1), 8, 14}, 2, 10};
  }());
  return made;
}

/// All readers of messages and secrets on arbitrary bytes: as they are, with a right checksum, and filled up
/// with zeros to the length of each message.
/// @return how many readers accepted the bytes as they are
inline int check_any_message(std::span<const std::byte> given) {
  static auto& core = *new pir::client_core(fuzzed_geometry(), nullptr, arith::seed_bytes{1});
  const auto check = [&](std::span<const std::byte> bytes) {
    return check_message_bytes(fuzzed_geometry(), bytes) + (check_secret_bytes(core, bytes) ? 1 : 0);
  };
  std::vector<std::byte> bytes(given.begin(), given.end());
  const int accepted = check(bytes);
  reseal_message(bytes);
  check(bytes);
  const pir::message_sizes sizes = pir::message_sizes_of(fuzzed_geometry());
  for (const std::size_t size : {sizes.server_keys, sizes.query, sizes.answer}) {
    bytes.assign(given.begin(), given.end());
    bytes.resize(size);
    reseal_message(bytes);
    check(bytes);
  }
  return accepted;
}

/// What must hold for any bytes given as a geometry; aborts when it does not.
/// @return whether the text was accepted
inline bool check_geometry_bytes(std::string_view bytes) {
  try {
    const pir::geometry accepted = pir::geometry_from_json(bytes, true);
    const std::string text = pir::to_json(accepted);
    if (pir::to_json(pir::geometry_from_json(text, true)) != text) std::abort();
    if (pir::forecast(accepted.scheme, accepted.at).log2_failure > accepted.scheme.source().log2_failure) {
      std::abort();
    }
    if (accepted.locate(accepted.records - 1).plaintext >=
        std::uint64_t{accepted.at.rows} * accepted.at.columns) {
      std::abort();
    }
    if (pir::message_sizes_of(accepted).query == 0) std::abort();
    return true;
  } catch (const error&) {
    return false;
  }
}

}  // namespace halocline::test

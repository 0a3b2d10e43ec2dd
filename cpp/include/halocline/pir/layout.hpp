// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "halocline/pir/parameters.hpp"

/// How a database of plaintexts is arranged, and what a query to it costs and risks.
namespace halocline::pir {

/// Database plaintext number p stands in row p mod `rows` and column p / rows. A query selects a row by
/// `rows` encrypted constants and a column by the bits of its number, one selection of two halves after the
/// other.
struct layout {
  std::uint32_t rows = 0;     ///< N0, a power of two
  std::uint32_t columns = 0;  ///< ceil(plaintexts / rows)
  gadget expansion;           ///< of key switches in the expansion of a query
  gadget selection;           ///< of external products with the bits of the column
  gadget secret;              ///< of products with the encrypted secret, which complete the bits
  unsigned answer_bits0 = 0;  ///< log2 of the modulus to which the first component of an answer is rounded
  unsigned answer_bits1 = 0;  ///< of the second component

  /// Bits of a column number: ceil(log2(columns)).
  [[nodiscard]] unsigned column_bits() const noexcept;
  /// Constants that a query packs: one for each row, and `selection.digits` times the number of primes for
  /// each bit.
  [[nodiscard]] std::uint64_t packed(const parameters& of) const noexcept;
  /// log2 of the number of leaves of the expansion: the least power of two that holds `packed`.
  [[nodiscard]] unsigned expansion_depth(const parameters& of) const noexcept;

  bool operator==(const layout&) const = default;
};

/// Standard deviations of the noise of a coefficient, as log2, after each stage, and what they lead to.
struct noise_forecast {
  double leaf = 0;          ///< an expanded constant, mean over its coefficients
  double completed = 0;     ///< a completed row of an encrypted bit
  double row = 0;           ///< the sum over the rows
  double selected = 0;      ///< the selected column
  double answer = 0;        ///< the same in units of 1, with the roundings of the answer: q and t taken out
  double log2_failure = 0;  ///< log2 of the probability that some coefficient of an answer decodes wrongly
};

/// Noise of a layout. Heuristic as usual: coefficients independent and Gaussian.
/// @throws invalid_argument when the query does not fit in one ciphertext
[[nodiscard]] noise_forecast forecast(const parameters& of, const layout& at);

/// Sizes of what is sent and kept, in bytes.
struct layout_sizes {
  std::size_t query = 0;        ///< one polynomial and a seed
  std::size_t server_keys = 0;  ///< all keys of a client, seeded
  std::size_t answer = 0;
  std::size_t database = 0;  ///< transformed, in memory: 4 bytes for each residue
  std::size_t expanded = 0;  ///< expanded query of one client
};
/// Sizes of a layout.
[[nodiscard]] layout_sizes sizes(const parameters& of, const layout& at);

/// Work of one query.
struct layout_work {
  double transforms = 0;  ///< number-theoretic transforms of one limb
  double products = 0;    ///< 32 x 32 + 64 bit products with the database
};
/// Work of one query with a layout.
[[nodiscard]] layout_work work(const parameters& of, const layout& at);

/// Speed of a device, for the choice between layouts.
struct work_rates {
  double butterflies_per_second = 1e9;
  double products_per_second = 1e9;
};

/// What a layout is chosen for; what is given is kept.
struct layout_request {
  std::uint64_t plaintexts = 1;
  work_rates rates{};
  std::size_t max_key_bytes = 0;  ///< of a client's keys; 0: 3.2 MiB for N = 4096 and more, 1.6 MiB below
  std::optional<std::uint32_t> rows{};
  std::optional<unsigned> expansion_digits{};
  std::optional<unsigned> selection_digits{};
  std::optional<unsigned> secret_digits{};
};

/// The layout with the least time per query among those whose failure probability is allowed and whose keys
/// fit.
/// @throws invalid_argument when there is none: the message has the lowest failure probability that there is
[[nodiscard]] layout choose_layout(const parameters& of, const layout_request& request);

}  // namespace halocline::pir

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

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
  double log2_failure = 0;  ///< log2 of the probability that some coefficient of a record decodes wrongly
};

/// What the records of a database are.
enum class contents : std::uint8_t {
  any,      ///< the noise of the worst: all coefficients are t/2 or -t/2
  uniform,  ///< random bytes, compressed or encrypted records: for comparisons with measurements
};

/// Noise of a layout. Heuristic as usual: noise is Gaussian. Where the scheme lifts at random the failure
/// probability holds for records that were chosen to raise it, with the covariance of the leaves taken into
/// account; elsewhere (`paper`) coefficients of the leaves are taken as independent.
/// @param planes plaintexts of a record (`geometry::planes`), all of which must be right
/// @throws invalid_argument when the query does not fit in one ciphertext
[[nodiscard]] noise_forecast forecast(const parameters& of, const layout& at, std::uint32_t planes = 1,
                                      contents records = contents::any);

/// Sizes of what is sent and kept, in bytes.
struct layout_sizes {
  std::size_t query = 0;        ///< `message_sizes_of` these three
  std::size_t server_keys = 0;  ///< of a client, for queries of this depth
  std::size_t answer = 0;       ///< of one plane
  std::size_t database = 0;     ///< of one plane, transformed, in memory: 4 bytes for each residue
  std::size_t expanded = 0;     ///< selectors and bits of one query, in memory
};
/// Sizes of a layout.
[[nodiscard]] layout_sizes sizes(const parameters& of, const layout& at);

/// Work of one query.
struct layout_work {
  double transforms = 0;  ///< number-theoretic transforms of one limb, both directions
  double products = 0;    ///< 32 x 32 + 64 bit products with the database
  double database = 0;    ///< bytes of the database, which are read once for a batch
  double traffic = 0;     ///< bytes of ciphertexts that stages read and write
};
/// Work of one query with a layout, as the fused operations do it.
/// @param planes as that of `forecast`
[[nodiscard]] layout_work work(const parameters& of, const layout& at, std::uint32_t planes = 1);

/// Speed of a device, for the choice between layouts.
struct work_rates {
  double butterflies_per_second = 1e9;  ///< of transforms, with the products of digits and rows among them
  double products_per_second = 5e9;
  double bytes_per_second = 1e10;
  double link_bytes_per_second = 2e9;  ///< of records that come from outside the memory of the device
  std::uint32_t tile_columns = 1;      ///< sums over rows of fewer columns take as long as those of so many
};
/// Measured speed of a device of `make_backend` (layout_choice.cpp has on what). A ghost has that of a CPU.
/// @param threads of a CPU
/// @throws invalid_argument for another device
[[nodiscard]] work_rates rates_of(std::string_view device, unsigned threads = 1);

/// What a layout is chosen for; what is given is kept.
struct layout_request {
  std::uint64_t plaintexts = 1;  ///< of each plane
  std::uint32_t planes = 1;
  std::uint32_t batch = 1;  ///< queries that are answered together
  work_rates rates{};
  std::size_t max_key_bytes = 0;  ///< of a client's keys; 0: 3.2 MiB for N = 4096 and more, 1.6 MiB below
  /// Budget of a server whose transformed database is larger: it reads the records once for each part of a
  /// batch whose expanded queries fit. 0: the database stays in memory.
  std::size_t memory_bytes = 0;
  std::optional<std::uint32_t> rows{};
  std::optional<unsigned> expansion_digits{};
  std::optional<unsigned> selection_digits{};
  std::optional<unsigned> secret_digits{};
};

/// Seconds for a query of a batch by this model: transforms, then products with the database or reading it,
/// whichever takes longer, then reading and writing ciphertexts. Within `memory_bytes` the database is read
/// once for each part of the batch, and groups of columns are as narrow as the budget makes them.
[[nodiscard]] double estimate_seconds(const parameters& of, const layout& at, const layout_request& request);

/// The layout with the least `estimate_seconds` among those whose failure probability is allowed and whose
/// keys fit.
/// @throws invalid_argument when there is none: the message has the lowest failure probability that there is
[[nodiscard]] layout choose_layout(const parameters& of, const layout_request& request);

}  // namespace halocline::pir

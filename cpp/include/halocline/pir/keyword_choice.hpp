// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "halocline/pir/geometry.hpp"
#include "halocline/pir/keyword_layout.hpp"

/// Which keyword layout a database gets: hash functions, slots and buckets by what a lookup costs.
namespace halocline::pir {

/// What a keyword layout is chosen for; what is given is kept.
struct keyword_request {
  std::uint64_t keys = 1;
  std::uint64_t max_value_bytes = 0;
  double spare = 0;      ///< room for further keys, as a share of `keys`: 0 to 16
  bool movable = false;  ///< tags of 16 bytes, so that `insert` can move entries
  /// For retrieval: rates, batch, digits, most bytes of keys. Its plaintexts and planes are replaced.
  layout_request retrieval{};
  double wire_bytes_per_second = 1.25e6;  ///< weight of queries and answers beside the server's time
  std::optional<arith::seed_bytes> seed{};
  std::optional<unsigned> hashes{};
  std::optional<std::uint32_t> slots{};
  std::optional<std::uint64_t> buckets{};
};

/// A keyword layout and what a lookup with it costs: `hashes` queries.
struct keyword_choice {
  keyword_layout table;
  /// Of its buckets. A builder may need more of them; `make_geometry` then takes those.
  geometry shape;
  double server_seconds = 0;  ///< by the rates of the request
  std::uint64_t query_bytes = 0;
  std::uint64_t answer_bytes = 0;
};

/// Chooses the layout with the least server time plus time on the wire. Candidates: 1 to 3 hash functions and
/// buckets that fill one to sixteen times the plaintexts that an entry needs.
///
/// One hash function: as many buckets as make the expected number of overfull ones at most 1/2, by the
/// Poisson distribution. Two and three: 98 % of `cuckoo_threshold`.
/// @throws invalid_argument for numbers out of range, and when no layout is possible, with the last reason
[[nodiscard]] keyword_choice choose_keyword_layout(const parameters& scheme, const keyword_request& request);

/// Largest share of slots that cuckoo hashing fills, for many buckets: with h hash functions and l slots it
/// is x / (h l Q(x, l)^(h-1)), where h l = x Q(x, l) / Q(x, l + 1) and Q(x, l) is the probability that a
/// Poisson variable of mean x is at least l. h = 2: Fernholz and Ramachandran, Cain, Sanders and Wormald
/// (SODA 2007); any h: Fountoulakis, Khosla and Panagiotou (SODA 2011). 0.5 for (2, 1), 0.9179 for (3, 1),
/// 0.9803 for (2, 4).
/// @throws invalid_argument unless hashes is 2 or 3 and slots 1 to `max_keyword_slots`
[[nodiscard]] double cuckoo_threshold(unsigned hashes, std::uint32_t slots);

/// Buckets for a number of keys, by the rule of `choose_keyword_layout`.
/// @throws invalid_argument for numbers out of range
[[nodiscard]] std::uint64_t buckets_for(std::uint64_t keys, unsigned hashes, std::uint32_t slots);

}  // namespace halocline::pir

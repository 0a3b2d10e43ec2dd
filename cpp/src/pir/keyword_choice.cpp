// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/keyword_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/pir/messages.hpp"
#include "halocline/ring/sampler.hpp"

namespace halocline::pir {
namespace {

/// Share of the threshold up to which tables are filled: insertions stay short.
constexpr double fill_share = 0.98;
/// Expected number of overfull buckets with one hash function: about 6 of 10 attempts succeed.
constexpr double overfull_buckets = 0.5;
/// From here on the threshold of two hash functions is 1 within 1e-6.
constexpr std::uint32_t full_slots = 32;
/// Sizes of buckets that are tried, in units of the plaintexts that one entry needs.
constexpr std::array<std::uint64_t, 8> bucket_sizes{1, 2, 3, 4, 6, 8, 12, 16};

/// Probability that a Poisson variable reaches l.
double poisson_reaches(double mean, std::uint32_t l) {
  double term = std::exp(-mean);
  double below = 0;
  for (std::uint32_t i = 0; i < l; ++i) {
    below += term;
    term *= mean / (i + 1);
  }
  return 1 - below;
}

/// log of a bound for the probability that a Poisson variable exceeds `most` >= mean: its largest term times
/// a geometric series.
double log_exceeds(double mean, double most) {
  const double first = (most + 1) * std::log(mean) - mean - std::lgamma(most + 2);
  return first - std::log1p(-mean / (most + 2));
}

std::uint64_t single_hash_buckets(std::uint64_t keys, std::uint32_t slots) {
  if (keys <= slots) return 1;
  const auto enough = [=](std::uint64_t buckets) {
    const double mean = static_cast<double>(keys) / static_cast<double>(buckets);
    return mean < slots &&
           std::log(static_cast<double>(buckets)) + log_exceeds(mean, slots) <= std::log(overfull_buckets);
  };
  std::uint64_t high = 2;
  while (high <= max_records && !enough(high)) high *= 2;
  std::uint64_t low = high / 2;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

/// What a lookup costs: as many queries as there are hash functions.
keyword_choice cost_of(const parameters& scheme, const keyword_layout& table, layout_request request) {
  geometry shape{scheme, {}, table.buckets, table.bucket_bytes()};
  request.planes = shape.planes();
  shape = make_geometry(scheme, table.buckets, table.bucket_bytes(), request);
  request.plaintexts = shape.plaintexts();
  const message_sizes sent = message_sizes_of(shape);
  const double server = table.hashes * estimate_seconds(scheme, shape.at, request);
  return {table, std::move(shape), server, table.hashes * sent.query, table.hashes * sent.answer};
}

void check(const keyword_request& request) {
  HALOCLINE_EXPECTS(request.keys > 0 && request.keys <= max_records, invalid_argument,
                    "keyword layout: ", request.keys, " keys; expected 1 to ", max_records);
  HALOCLINE_EXPECTS(request.spare >= 0 && request.spare <= 16, invalid_argument, "keyword layout: spare is ",
                    request.spare, "; expected 0 to 16 times the number of keys");
  HALOCLINE_EXPECTS(std::isfinite(request.wire_bytes_per_second) && request.wire_bytes_per_second > 0,
                    invalid_argument, "keyword layout: ", request.wire_bytes_per_second,
                    " bytes a second on the wire; expected a positive number");
  HALOCLINE_EXPECTS(request.max_value_bytes <= max_record_bytes, invalid_argument,
                    "keyword layout: values of ", request.max_value_bytes, " bytes; expected at most ",
                    max_record_bytes);
  HALOCLINE_EXPECTS(!request.hashes || (*request.hashes >= 1 && *request.hashes <= max_keyword_hashes),
                    invalid_argument, "keyword layout: ", request.hashes.value_or(0),
                    " hash functions; expected 1 to ", max_keyword_hashes);
  HALOCLINE_EXPECTS(!request.slots || (*request.slots >= 1 && *request.slots <= max_keyword_slots),
                    invalid_argument, "keyword layout: ", request.slots.value_or(0), " slots; expected 1 to ",
                    max_keyword_slots);
}

/// Most slots of a bucket of so many bytes. Tags grow with the number of slots, so the number follows in a
/// few steps.
std::uint32_t slots_in(std::uint64_t bytes, unsigned hashes, keyword_layout table, bool movable) {
  table.tag_bytes = movable ? unsigned{key_digest{}.size()} : required_tag_bytes(hashes, 1);
  auto slots = std::min<std::uint64_t>(bytes / table.entry_bytes(), max_keyword_slots);
  while (slots > 0 && !movable) {
    table.tag_bytes = required_tag_bytes(hashes, static_cast<std::uint32_t>(slots));
    const std::uint64_t fit = bytes / table.entry_bytes();
    if (fit >= slots) break;
    slots = fit;
  }
  return static_cast<std::uint32_t>(slots);
}

/// Numbers of slots that are tried with a number of hash functions.
std::set<std::uint32_t> slot_choices(const parameters& scheme, const keyword_request& request,
                                     unsigned hashes) {
  if (request.slots) return {*request.slots};
  const std::uint64_t room = scheme.plaintext_bytes();
  keyword_layout entry;
  entry.max_value_bytes = request.max_value_bytes;
  entry.tag_bytes = request.movable ? unsigned{key_digest{}.size()} : required_tag_bytes(hashes, 1);
  const std::uint64_t unit = (entry.entry_bytes() - 1) / room + 1;
  std::set<std::uint32_t> found;
  for (const std::uint64_t size : bucket_sizes) {
    const std::uint32_t slots = slots_in(size * unit * room, hashes, entry, request.movable);
    if (slots > 0) found.insert(slots);
  }
  return found;
}

}  // namespace

double cuckoo_threshold(unsigned hashes, std::uint32_t slots) {
  HALOCLINE_EXPECTS(hashes >= 2 && hashes <= max_keyword_hashes && slots >= 1 && slots <= max_keyword_slots,
                    invalid_argument, "cuckoo threshold: ", hashes, " hash functions and ", slots,
                    " slots; expected 2 or 3 and 1 to ", max_keyword_slots);
  if (slots >= full_slots) return 1;
  if (hashes == 2 && slots == 1) return 0.5;  // the equation has its solution at 0
  double low = 1e-3;
  double high = 4.0 * hashes * slots;
  for (int i = 0; i < 100; ++i) {
    const double x = (low + high) / 2;
    const double keys = x * poisson_reaches(x, slots) / poisson_reaches(x, slots + 1);
    (keys < hashes * slots ? low : high) = x;
  }
  return low / (hashes * slots * std::pow(poisson_reaches(low, slots), hashes - 1.0));
}

std::uint64_t buckets_for(std::uint64_t keys, unsigned hashes, std::uint32_t slots) {
  HALOCLINE_EXPECTS(keys <= max_records && hashes >= 1 && hashes <= max_keyword_hashes && slots >= 1 &&
                        slots <= max_keyword_slots,
                    invalid_argument, "keyword layout: ", keys, " keys, ", hashes, " hash functions and ",
                    slots, " slots; expected at most ", max_records, ", ", max_keyword_hashes, " and ",
                    max_keyword_slots);
  if (hashes == 1) return single_hash_buckets(std::max<std::uint64_t>(keys, 1), slots);
  const double load = slots * fill_share * cuckoo_threshold(hashes, slots);
  return hashes + static_cast<std::uint64_t>(std::ceil(static_cast<double>(keys) / load));
}

keyword_choice choose_keyword_layout(const parameters& scheme, const keyword_request& request) {
  check(request);
  keyword_layout table;
  table.max_value_bytes = request.max_value_bytes;
  table.seed = request.seed ? *request.seed : ring::random_source().next_seed();
  const auto room =
      static_cast<std::uint64_t>(std::ceil(static_cast<double>(request.keys) * (1 + request.spare)));
  std::optional<keyword_choice> best;
  double best_seconds = 0;
  std::string reason = "no bucket that fits in a record holds an entry";
  for (unsigned hashes = request.hashes.value_or(1); hashes <= request.hashes.value_or(max_keyword_hashes);
       ++hashes) {
    for (const std::uint32_t slots : slot_choices(scheme, request, hashes)) {
      table.hashes = hashes;
      table.slots = slots;
      table.tag_bytes = request.movable ? unsigned{key_digest{}.size()} : required_tag_bytes(hashes, slots);
      // Layouts that are too large for retrieval refuse themselves; the others remain.
      try {
        table.buckets = request.buckets ? *request.buckets : buckets_for(room, hashes, slots);
        check(table);
        keyword_choice made = cost_of(scheme, table, request.retrieval);
        const auto sent = static_cast<double>(made.query_bytes + made.answer_bytes);
        const double seconds = made.server_seconds + sent / request.wire_bytes_per_second;
        if (best && seconds >= best_seconds) continue;
        best = std::move(made);
        best_seconds = seconds;
      } catch (const invalid_argument& refused) {
        reason = refused.what();
      }
    }
  }
  HALOCLINE_EXPECTS(best.has_value(), invalid_argument, "keyword layout: none for ", request.keys,
                    " keys with values of ", request.max_value_bytes, " bytes: ", reason);
  return *std::move(best);
}

}  // namespace halocline::pir

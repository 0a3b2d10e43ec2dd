// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "halocline/core/expects.hpp"
#include "halocline/pir/database.hpp"
#include "halocline/pir/layout.hpp"

namespace halocline::pir {
namespace {

/// One core of an AMD EPYC (Zen 5, AVX-512): transforms with what is done between them, `row_select` from
/// memory (halocline_retrieval_bench, `paper`, 1 GiB).
constexpr work_rates core_rates{3.6e9, 8.4e9, 1.65e10, 2e9, 1};
/// One H200: transforms of fused operations, products on tensor cores (batches of three and more; smaller
/// ones wait for bytes), a copy kernel, copies from pinned memory, columns of a tile of warpgroups.
constexpr work_rates card_rates{0.9e12, 2.2e13, 3.98e12, 5.0e10, 64};

/// The answer's moduli with the fewest bits that keep the failure probability.
void choose_answer(const parameters& of, layout& at, std::uint32_t planes) {
  if (of.source().answer_bits) {
    at.answer_bits0 = at.answer_bits1 = *of.source().answer_bits;
    const double failure = forecast(of, at, planes).log2_failure;
    HALOCLINE_EXPECTS(failure <= of.source().log2_failure, invalid_argument, "retrieval layout: answers of ",
                      at.answer_bits0, " bits fail with a probability of 2^", failure, "; '",
                      of.source().name, "' allows 2^", of.source().log2_failure, ". Give more answer_bits");
    return;
  }
  const unsigned highest = static_cast<unsigned>(of.log2_q());
  layout best = at;
  unsigned least = std::numeric_limits<unsigned>::max();
  for (unsigned bits0 = of.source().plain_bits + 1; bits0 <= highest; ++bits0) {
    for (unsigned bits1 = bits0; bits1 <= highest && bits0 + bits1 < least; ++bits1) {
      at.answer_bits0 = bits0;
      at.answer_bits1 = bits1;
      if (forecast(of, at, planes).log2_failure > of.source().log2_failure) continue;
      best = at;
      least = bits0 + bits1;
    }
  }
  at = best;
}

std::size_t key_limit(const parameters& of, const layout_request& request) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  if (request.max_key_bytes != 0) return request.max_key_bytes;
  return of.source().log_n >= 12 ? 32 * mebibyte / 10 : 16 * mebibyte / 10;
}

/// What is asked for, else what the scheme says.
std::optional<unsigned> either(std::optional<unsigned> asked, std::optional<unsigned> fixed) {
  return asked ? asked : fixed;
}

/// Calls `visit(layout)` for all layouts that a request leaves open and that fit in one query.
template <typename VisitT>
void for_each_layout(const parameters& of, const layout_request& request, const VisitT& visit) {
  const auto each_digit = [](std::optional<unsigned> given, const auto& body) {
    for (unsigned digits = given.value_or(1); digits <= given.value_or(8); ++digits) body(digits);
  };
  const std::uint64_t n = of.n();
  for (std::uint64_t rows = request.rows.value_or(1); rows <= request.rows.value_or(n); rows *= 2) {
    const std::uint64_t columns = (request.plaintexts - 1) / rows + 1;
    if (columns > std::numeric_limits<std::uint32_t>::max()) continue;
    layout at;
    at.rows = static_cast<std::uint32_t>(rows);
    at.columns = static_cast<std::uint32_t>(columns);
    const literal& fixed = of.source();
    each_digit(either(request.expansion_digits, fixed.expansion_digits), [&](unsigned expansion) {
      each_digit(either(request.selection_digits, fixed.selection_digits), [&](unsigned selection) {
        each_digit(either(request.secret_digits, fixed.secret_digits), [&](unsigned secret) {
          at.expansion = of.split(expansion);
          at.selection = of.split(selection);
          at.secret = of.split(secret);
          if (at.packed(of) <= n) visit(at);
        });
      });
    });
  }
}

/// Temporaries of a query. Sums of about as many columns are kept at once as there are parts of so many
/// (`choose_steps`).
double query_bytes(const parameters& of, const layout& at, std::uint32_t planes) {
  const double pair = 8.0 * static_cast<double>(of.n() * of.primes().size());
  return static_cast<double>(sizes(of, at).expanded) + 2 * std::sqrt(at.columns) * planes * pair;
}

/// Whether the transformed database stays in the budget, beside a query and what `scratch_within` sets aside.
bool stays_within(const parameters& of, const layout& at, const layout_request& request, double database) {
  if (request.memory_bytes == 0) return true;
  const double room = 0.9 * static_cast<double>(request.memory_bytes);
  return database + query_bytes(of, at, request.planes) <= room;
}

/// Seconds for a query's sums over rows in a database that is read anew for each part of a batch.
double selection_within_budget(const parameters& of, const layout& at, const layout_request& request,
                               const layout_work& needed) {
  const layout_sizes bytes = sizes(of, at);
  const auto batch = static_cast<double>(request.batch);
  const auto memory = static_cast<double>(request.memory_bytes);
  // Half of a budget is for temporaries (`scratch_within`).
  const double most = std::clamp(std::floor(memory / 2 / query_bytes(of, at, request.planes)), 1.0, batch);
  const double column = static_cast<double>(bytes.database) / at.columns;
  const auto group = static_cast<double>(default_group_bytes(request.memory_bytes, 1));
  const double width = std::exp2(std::floor(std::log2(std::max(1.0, group / column))));
  const double records =
      static_cast<double>(request.plaintexts) * request.planes * static_cast<double>(of.plaintext_bytes());
  const double products = needed.products * std::max(1.0, request.rates.tile_columns / width);
  return std::max(products / request.rates.products_per_second,
                  std::ceil(batch / most) * records / batch / request.rates.link_bytes_per_second);
}

}  // namespace

work_rates rates_of(std::string_view device, unsigned threads) {
  if (device.starts_with("cuda")) return card_rates;
  HALOCLINE_EXPECTS(device == "cpu" || device == "ghost", invalid_argument, "retrieval layout: device '",
                    device, "'; expected 'cpu', 'cuda' or 'ghost'");
  HALOCLINE_EXPECTS(threads > 0, invalid_argument, "retrieval layout: no threads; expected at least one");
  // Few cores saturate the memory.
  return {threads * core_rates.butterflies_per_second, threads * core_rates.products_per_second,
          std::min(threads, 4U) * core_rates.bytes_per_second, core_rates.link_bytes_per_second,
          core_rates.tile_columns};
}

double estimate_seconds(const parameters& of, const layout& at, const layout_request& request) {
  const layout_work needed = work(of, at, request.planes);
  const work_rates& rates = request.rates;
  const double butterflies = needed.transforms * static_cast<double>(of.n()) / 2 * of.source().log_n;
  const bool stays = stays_within(of, at, request, needed.database);
  const double selection = stays ? std::max(needed.products / rates.products_per_second,
                                            needed.database / request.batch / rates.bytes_per_second)
                                 : selection_within_budget(of, at, request, needed);
  return butterflies / rates.butterflies_per_second + selection + needed.traffic / rates.bytes_per_second;
}

layout choose_layout(const parameters& of, const layout_request& request) {
  HALOCLINE_EXPECTS(request.plaintexts > 0, invalid_argument,
                    "retrieval layout: no plaintexts; expected a database with at least one record");
  HALOCLINE_EXPECTS(!request.rows || (std::has_single_bit(*request.rows) && *request.rows <= of.n()),
                    invalid_argument, "retrieval layout: ", request.rows.value_or(0),
                    " rows; expected a power of two of at most N = ", of.n());
  HALOCLINE_EXPECTS(request.planes > 0 && request.batch > 0, invalid_argument,
                    "retrieval layout: ", request.planes, " planes and batches of ", request.batch,
                    " queries; expected at least one of each");
  for (const double rate : {request.rates.butterflies_per_second, request.rates.products_per_second,
                            request.rates.bytes_per_second, request.rates.link_bytes_per_second}) {
    HALOCLINE_EXPECTS(std::isfinite(rate) && rate > 0, invalid_argument, "retrieval layout: a rate of ", rate,
                      " a second; expected a positive number");
  }
  std::optional<layout> best;
  double best_seconds = 0;
  double lowest = 0;
  for_each_layout(of, request, [&](const layout& at) {
    const double failure = forecast(of, at, request.planes).log2_failure;
    lowest = std::min(lowest, failure);
    if (failure > of.source().log2_failure || sizes(of, at).server_keys > key_limit(of, request)) return;
    const double taken = estimate_seconds(of, at, request);
    if (best && taken >= best_seconds) return;
    best = at;
    best_seconds = taken;
  });
  HALOCLINE_EXPECTS(best.has_value(), invalid_argument, "retrieval layout: no layout of ", request.plaintexts,
                    " plaintexts has keys of at most ", key_limit(of, request),
                    " bytes and fails with a probability of at most 2^", of.source().log2_failure,
                    "; the lowest probability is 2^", lowest,
                    ". Give fewer of its numbers, allow larger keys, or take a smaller plaintext modulus");
  choose_answer(of, *best, request.planes);
  return *best;
}

}  // namespace halocline::pir

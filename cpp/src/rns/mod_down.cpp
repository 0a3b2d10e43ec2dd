// SPDX-License-Identifier: Apache-2.0
#include "halocline/rns/mod_down.hpp"

#include <algorithm>
#include <utility>

#include "halocline/core/expects.hpp"
#include "rns/constants.hpp"
#include "rns/division_plan.hpp"

namespace halocline::rns {
namespace {

using arith::window;
using backend::limb_view;

void push_non_empty(std::vector<window>& list, window each) {
  if (each.count != 0) list.push_back(each);
}

std::vector<std::uint64_t> primes_of(const backend::ring_tables& ring, const std::vector<window>& windows) {
  std::vector<std::uint64_t> primes;
  for (const window& each : windows) {
    primes.insert(primes.end(), ring.primes.begin() + each.first, ring.primes.begin() + each.end());
  }
  return primes;
}

std::uint64_t factor_at(const division& step, std::uint32_t prime) {
  if (step.factor.empty()) return 1;
  const std::uint32_t position = step.source_special.contains(prime)
                                     ? prime - step.source_special.first
                                     : step.source_special.count + prime - step.source_chain.first;
  return step.factor[position];
}

/// The windows of a plan: the primes that are dropped, kept and added.
division_plan split_windows(const division& step) {
  division_plan p;
  const std::uint32_t first = std::clamp(step.source_chain.first, step.target.first, step.target.end());
  const std::uint32_t end = std::clamp(step.source_chain.end(), first, step.target.end());
  push_non_empty(p.dropped, step.source_special);
  push_non_empty(p.dropped, {step.source_chain.first, first - step.source_chain.first});
  push_non_empty(p.dropped, {end, step.source_chain.end() - end});
  push_non_empty(p.kept, {first, end - first});
  push_non_empty(p.added, {step.target.first, first - step.target.first});
  push_non_empty(p.added, {end, step.target.end() - end});
  return p;
}

/// factor * added modulo every dropped prime.
std::vector<std::uint64_t> dropped_scale(const backend::ring_tables& ring, const division& step,
                                         const division_plan& p) {
  const std::vector<std::uint64_t> added = primes_of(ring, p.added);
  std::vector<std::uint64_t> scale;
  for (const window& each : p.dropped) {
    for (std::uint32_t i = each.first; i < each.end(); ++i) {
      const wide_modulus q = arith::make_modulus(ring.primes[i]);
      scale.push_back(arith::mul_mod(product_mod(added, q), factor_at(step, i), q));
    }
  }
  return scale;
}

void fill_target_factors(const backend::ring_tables& ring, const division& step, division_plan& p) {
  const std::vector<std::uint64_t> dropped = primes_of(ring, p.dropped);
  const std::vector<std::uint64_t> added = primes_of(ring, p.added);
  for (std::uint32_t i = step.target.first; i < step.target.end(); ++i) {
    const wide_modulus q = arith::make_modulus(ring.primes[i]);
    const std::uint64_t inverse = arith::inverse_mod(product_mod(dropped, q), q);
    const bool kept = step.source_chain.contains(i);
    const std::uint64_t scale = kept ? arith::mul_mod(product_mod(added, q), factor_at(step, i), q) : 0;
    p.source_factor.push_back(arith::mul_mod(scale, inverse, q));
    p.carry_factor.push_back(arith::negate_mod(inverse, q));
  }
}

division_plan make_plan(const backend::ring_tables& ring, base_converter& converter, const division& step) {
  division_plan p = split_windows(step);
  HALOCLINE_EXPECTS(!p.dropped.empty(), invalid_argument, "division: no prime of the source is dropped");
  fill_target_factors(ring, step, p);
  const std::vector<std::uint64_t> scale = dropped_scale(ring, step, p);
  if (step.factor.empty()) {
    p.conversion = &converter.table(p.dropped, {step.target}, scale);
  } else {
    for (const std::uint64_t value : scale) p.before.push_back({value, value});
    p.conversion = &converter.table(p.dropped, {step.target});
  }
  return p;
}

/// Where the limbs of `primes` stand in a source polynomial.
limb_view source_view(const ring::poly& source, window primes) {
  const limb_view special = source.special();
  return special.primes.contains(primes.first) ? special.slice(primes) : source.chain().slice(primes);
}

/// Limbs of several windows, one after the other in one scratch buffer.
struct limb_list {
  memory::buffer data;
  std::vector<window> windows;

  [[nodiscard]] std::vector<limb_view> views() const {
    std::vector<limb_view> result;
    std::uint32_t limb = 0;
    for (const window& each : windows) {
      result.push_back({&data, limb, each});
      limb += each.count;
    }
    return result;
  }
};

/// A polynomial and the division that it takes.
struct division_work {
  const ring::poly* source;
  const division* step;
  const division_plan* plan;
};

/// Dropped limbs of every source in coefficient form, times `before` where there is one.
std::vector<limb_list> dropped_coefficients(ring::context& ring, std::span<const division_work> works) {
  std::vector<limb_list> result(works.size());
  std::vector<backend::unary_job> transforms;
  std::vector<backend::scalar_job> scalings;
  for (std::size_t k = 0; k < works.size(); ++k) {
    const division_plan& p = *works[k].plan;
    result[k].data = ring.runtime().allocate(p.conversion->sources.size() * ring.tables().limb_bytes(),
                                             memory::object_class::scratch, "divide.dropped");
    result[k].windows = p.dropped;
    for (const limb_view& view : result[k].views()) {
      transforms.push_back({view, source_view(*works[k].source, view.primes)});
      if (p.before.empty()) continue;
      const auto begin = p.before.begin() + view.limb;
      scalings.push_back({view, view, {begin, begin + view.primes.count}});
    }
  }
  ring.device().intt(ring.tables(), transforms);
  ring.device().scalar_multiply(ring.tables(), scalings);
  return result;
}

/// Whether the remainder is converted by the operation that transforms and combines it: for so few limbs,
/// that costs less than writing and reading what comes of it.
bool joins_conversion(const division_plan& p) {
  return p.conversion->sources.size() <= backend::max_joined_sources;
}

/// Converts the remainders of all sources to the target primes, except those whose conversion is joined.
void convert(ring::context& ring, std::span<const division_work> works, const std::vector<limb_list>& dropped,
             const std::vector<ring::poly>& results) {
  std::vector<backend::convert_job> conversions;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (joins_conversion(*works[k].plan)) continue;
    conversions.push_back({dropped[k].views(), {results[k].chain()}, works[k].plan->conversion});
  }
  ring.device().base_convert(ring.tables(), conversions);
}

/// Makes every result source_factor * source + carry_factor * NTT(remainder). It holds the converted
/// remainder, in coefficient form, unless the conversion is joined.
void combine(ring::context& ring, std::span<const division_work> works, const std::vector<limb_list>& dropped,
             const std::vector<ring::poly>& results) {
  std::vector<backend::linear_job> jobs;
  for (std::size_t k = 0; k < works.size(); ++k) {
    const division_plan& p = *works[k].plan;
    const auto part = [&](const std::vector<std::uint64_t>& values, window w) {
      const auto begin = values.begin() + (w.first - works[k].step->target.first);
      return std::vector<std::uint64_t>(begin, begin + w.count);
    };
    const auto add_job = [&](window each, const limb_view& source) {
      const limb_view remainder = results[k].chain().slice(each);
      jobs.push_back({remainder, source, remainder, part(p.source_factor, each), part(p.carry_factor, each)});
      if (!joins_conversion(p)) return;
      jobs.back().from = dropped[k].views();
      jobs.back().conversion = p.conversion;
    };
    for (const window& each : p.kept) add_job(each, source_view(*works[k].source, each));
    // The source has no such limbs and its factor is 0: any operand will do.
    for (const window& each : p.added) add_job(each, results[k].chain().slice(each));
  }
  ring.device().ntt_linear_combine(ring.tables(), jobs);
}

std::vector<ring::poly> divide_all(ring::context& ring, std::span<const division_work> works,
                                   memory::object_class result_class, const char* tag) {
  const std::vector<limb_list> dropped = dropped_coefficients(ring, works);
  std::vector<ring::poly> results;
  results.reserve(works.size());
  for (const division_work& each : works) {
    results.push_back(ring::make_poly(ring, each.step->target, result_class, tag));
  }
  convert(ring, works, dropped, results);
  combine(ring, works, dropped, results);
  return results;
}

}  // namespace

std::shared_ptr<const division_plan> base_converter::plan(const division& step) {
  if (!step.factor.empty()) {
    return std::make_shared<const division_plan>(make_plan(ring_.tables(), *this, step));
  }
  const std::vector<std::uint32_t> key{step.source_special.first, step.source_special.count,
                                       step.source_chain.first,   step.source_chain.count,
                                       step.target.first,         step.target.count};
  std::shared_ptr<const division_plan>& known = plans_[key];
  if (!known) known = std::make_shared<const division_plan>(make_plan(ring_.tables(), *this, step));
  return known;
}

std::vector<ring::poly> divide(ring::context& ring, base_converter& converter, const division& step,
                               std::span<const ring::poly* const> sources, memory::object_class result_class,
                               const char* tag) {
  const std::shared_ptr<const division_plan> plan = converter.plan(step);
  std::vector<division_work> works;
  for (const ring::poly* each : sources) works.push_back({each, &step, plan.get()});
  return divide_all(ring, works, result_class, tag);
}

std::vector<ring::poly> divide(ring::context& ring, base_converter& converter,
                               std::span<const division_batch> batches, memory::object_class result_class,
                               const char* tag) {
  std::vector<std::shared_ptr<const division_plan>> plans;  // keeps what the works point to
  std::vector<division_work> works;
  for (const division_batch& batch : batches) {
    plans.push_back(converter.plan(batch.step));
    for (const ring::poly* each : batch.sources) works.push_back({each, &batch.step, plans.back().get()});
  }
  return divide_all(ring, works, result_class, tag);
}

}  // namespace halocline::rns

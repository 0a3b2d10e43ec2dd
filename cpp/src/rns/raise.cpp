// SPDX-License-Identifier: Apache-2.0
#include "halocline/rns/raise.hpp"

#include <algorithm>

#include "halocline/rns/mod_up.hpp"
#include "rns/constants.hpp"

namespace halocline::rns {
namespace {

using arith::window;
using backend::limb_view;

/// The part of `target` that is also in `source`, and the parts before and behind it.
struct split {
  window kept;
  std::vector<window> added;
};

split split_chain(window source, window target) {
  const std::uint32_t first = std::clamp(source.first, target.first, target.end());
  const std::uint32_t end = std::clamp(source.end(), first, target.end());
  split result{{first, end - first}, {}};
  for (const window part : {window{target.first, first - target.first}, window{end, target.end() - end}}) {
    if (part.count != 0) result.added.push_back(part);
  }
  return result;
}

}  // namespace

std::vector<ring::poly> raise(ring::context& ring, base_converter& converter,
                              std::span<const limb_view> sources, const raise_target& target,
                              memory::object_class result_class, const char* tag) {
  const std::vector<ring::poly> coefficients = to_coefficients(ring, sources, "raise.coefficients");
  std::vector<ring::poly> results;
  results.reserve(sources.size());
  std::vector<backend::convert_job> conversions;
  std::vector<backend::unary_job> transforms;
  std::vector<backend::unary_job> copies;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const window own = sources[i].primes;
    const split parts = split_chain(own, target.chain);
    const ring::poly& result = results.emplace_back(ring, target.special, target.chain, result_class, tag);
    backend::convert_job conversion{{coefficients[i].chain()}, {}, nullptr};
    std::vector<window> added = parts.added;
    for (const window& part : parts.added) conversion.dst.push_back(result.chain().slice(part));
    if (target.special.count != 0) {
      conversion.dst.insert(conversion.dst.begin(), result.special());
      added.insert(added.begin(), target.special);
    }
    for (const limb_view& view : conversion.dst) transforms.push_back({view, view});
    if (parts.kept.count != 0) {
      copies.push_back({result.chain().slice(parts.kept), sources[i].slice(parts.kept)});
    }
    if (added.empty()) continue;
    conversion.table = &converter.table({own}, added);
    conversions.push_back(std::move(conversion));
  }
  ring.device().base_convert(ring.tables(), conversions);
  ring.device().ntt(ring.tables(), transforms);
  ring.device().copy(ring.tables(), copies);
  return results;
}

std::vector<std::uint64_t> product_of(const ring::context& ring, window factors, window primes) {
  const std::vector<std::uint64_t>& all = ring.tables().primes;
  std::vector<std::uint64_t> result;
  for (std::uint32_t i = primes.first; i < primes.end(); ++i) {
    result.push_back(
        product_mod(std::span(all).subspan(factors.first, factors.count), arith::make_modulus(all[i])));
  }
  return result;
}

}  // namespace halocline::rns

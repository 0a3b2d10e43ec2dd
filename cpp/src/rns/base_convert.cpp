// SPDX-License-Identifier: Apache-2.0
#include "halocline/rns/base_convert.hpp"

#include <memory>
#include <span>
#include <utility>

#include "halocline/backend/table_recipe.hpp"
#include "halocline/core/expects.hpp"
#include "rns/constants.hpp"

namespace halocline::rns {
namespace {

using arith::window;

/// Product of all primes of D but the i-th, modulo q.
std::uint64_t cofactor_mod(std::span<const std::uint64_t> primes, std::size_t skip, const wide_modulus& q) {
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < primes.size(); ++i) {
    if (i != skip) product = arith::mul_mod(product, primes[i] % q.value, q);
  }
  return product;
}

std::vector<std::uint32_t> indices(const std::vector<window>& windows) {
  std::vector<std::uint32_t> result;
  for (const window& each : windows) {
    for (std::uint32_t i = each.first; i < each.end(); ++i) result.push_back(i);
  }
  return result;
}

std::uint64_t fixed_point_reciprocal(std::uint64_t prime, unsigned word_bits) {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<wide>(1) << backend::reciprocal_shift(word_bits)) / prime);
}

/// The words that `backend::conversion_table::data` documents.
std::vector<std::uint64_t> table_words(const backend::ring_tables& ring,
                                       std::span<const std::uint64_t> sources,
                                       std::span<const std::uint32_t> targets,
                                       std::span<const std::uint64_t> scale) {
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const wide_modulus q = arith::make_modulus(sources[i]);
    const std::uint64_t inverse = arith::inverse_mod(cofactor_mod(sources, i, q), q);
    words.push_back(scale.empty() ? inverse : arith::mul_mod(inverse, scale[i], q));
  }
  __extension__ using wide = unsigned __int128;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    words.push_back(static_cast<std::uint64_t>((static_cast<wide>(words[i]) << ring.word_bits) / sources[i]));
  }
  for (const std::uint64_t prime : sources) words.push_back(fixed_point_reciprocal(prime, ring.word_bits));
  for (const std::uint32_t target : targets) {
    const wide_modulus p = arith::make_modulus(ring.primes[target]);
    const std::uint64_t one = montgomery_one(ring.word_bits, p);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      words.push_back(arith::mul_mod(cofactor_mod(sources, i, p), one, p));
    }
    words.push_back(arith::mul_mod(arith::negate_mod(product_mod(sources, p), p), one, p));
  }
  return words;
}

std::vector<std::byte> pack_words(const std::vector<std::uint64_t>& words, unsigned word_bits) {
  if (word_bits == 64) {
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
  }
  const std::vector<std::uint32_t> narrow(words.begin(), words.end());
  const auto bytes = std::as_bytes(std::span(narrow));
  return {bytes.begin(), bytes.end()};
}

/// Names a table in plans: FNV-1a over the words of its key (Fowler, Noll, Vo).
std::uint64_t identity_of(std::span<const std::uint64_t> key) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const std::uint64_t each : key) hash = (hash ^ each) * 0x100000001B3U ^ (hash >> 29);
  return std::max<std::uint64_t>(hash, 1);
}

}  // namespace

const backend::conversion_table& base_converter::table(const std::vector<window>& sources,
                                                       const std::vector<window>& targets,
                                                       std::span<const std::uint64_t> scale) {
  std::vector<std::uint64_t> key;
  for (const window& each : sources) key.insert(key.end(), {each.first, each.count});
  key.push_back(0);  // no window is empty, so a zero count separates the two lists
  key.push_back(0);
  for (const window& each : targets) key.insert(key.end(), {each.first, each.count});
  if (!scale.empty()) key.insert(key.end(), {0, 0});
  key.insert(key.end(), scale.begin(), scale.end());
  const auto found = tables_.find(key);
  if (found != tables_.end()) return found->second;

  const backend::ring_tables& ring = ring_.tables();
  backend::conversion_table table;
  table.sources = indices(sources);
  table.targets = indices(targets);
  HALOCLINE_EXPECTS(!table.sources.empty() && table.sources.size() <= 64, invalid_argument,
                    "base conversion from ", table.sources.size(), " primes; expected 1 to 64");
  std::vector<std::uint64_t> primes;
  for (const std::uint32_t index : table.sources) primes.push_back(ring.primes.at(index));
  const auto contents = [&ring, primes, targets = table.targets,
                         scale = std::vector<std::uint64_t>(scale.begin(), scale.end())] {
    return pack_words(table_words(ring, primes, targets, scale), ring.word_bits);
  };
  const std::vector<std::byte> bytes = contents();
  table.data = ring_.runtime().allocate(bytes.size(), memory::object_class::table, "rns.conversion");
  ring_.device().upload(table.data, 0, bytes);
  ring_.runtime().set_identity(table.data, identity_of(key));
  const auto write = [&device = ring_.device(), contents](const memory::buffer& to) {
    device.upload(to, 0, contents());
  };
  ring_.runtime().set_recipe(table.data, std::make_shared<backend::table_recipe>(write));
  return tables_.emplace(std::move(key), std::move(table)).first->second;
}

std::span<const std::uint64_t> base_converter::special_product(window primes) {
  const std::vector<std::uint64_t>& all = ring_.tables().primes;
  if (special_products_.empty()) {
    const window in = ring_.shape().special;
    const std::span<const std::uint64_t> special = std::span(all).subspan(in.first, in.count);
    for (const std::uint64_t prime : all) {
      special_products_.push_back(product_mod(special, arith::make_modulus(prime)));
    }
  }
  return std::span(special_products_).subspan(primes.first, primes.count);
}

}  // namespace halocline::rns

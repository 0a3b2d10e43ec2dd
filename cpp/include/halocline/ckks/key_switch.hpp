// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/keys.hpp"
#include "halocline/rns/mod_up.hpp"

/// The steps of hybrid key switching, for callers that share work between switches (hoisting, linear
/// transforms).
namespace halocline::ckks {

/// Pair of polynomials over special + chain primes (before the division by P) or over chain primes (after
/// it).
struct poly_pair {
  ring::poly first;
  ring::poly second;
};

/// An uninitialised pair over two windows, either of which may be empty.
[[nodiscard]] poly_pair make_pair(context& ctx, arith::window special, arith::window chain,
                                  memory::object_class cls, const char* tag);

/// Whether digits that only one product with `key` reads stay in coefficient form (`rns::digit_form`): on
/// devices with a cache (see `context::cache_bytes`), of which some transform them faster within the product
/// and the others as fast, unless halves of the key are expanded from seeds, or the step would touch more
/// than a quarter of `context::joining_budget`, as it reads tables that the product alone does not. It
/// changes the sequence of steps, never the integers.
/// @param chain window of the decomposed polynomial
[[nodiscard]] bool joins_transforms(context& ctx, const evaluation_key& key, arith::window chain);

/// sum_j digit_j * key_j + P * (plus0, plus1) over special + chain primes, NTT form. The plus views span the
/// chain of the digits; an empty one counts as zero. P is the product of the special primes, 0 on their
/// limbs.
[[nodiscard]] poly_pair key_product(context& ctx, const rns::raised_digits& digits, const evaluation_key& key,
                                    const backend::limb_view& plus0 = {},
                                    const backend::limb_view& plus1 = {});

/// What a key product is joined with.
struct product_options {
  backend::limb_view plus0{};  ///< as those of `key_product`
  backend::limb_view plus1{};
  /// Polynomial over special + chain primes that is added to the first sum as it is, in place of the plus
  /// views.
  const ring::poly* extended0 = nullptr;
  /// X -> X^galois_element is applied to both sums, after everything is added. It takes no pass of its own.
  std::uint64_t galois_element = 1;
  const char* tag = "key_switch.product";
};

/// The same with all options. @throws invalid_argument for plus views beside `extended0`, and for one that
/// spans other primes than the product
[[nodiscard]] poly_pair key_product(context& ctx, const rns::raised_digits& digits, const evaluation_key& key,
                                    const product_options& options);

/// The same of several polynomials of one chain window, in one call of the backend. Jobs of the same part of
/// the key stand next to each other, so that it may still be in a cache the second time.
/// @throws invalid_argument also for none, other windows, and another number of options
[[nodiscard]] std::vector<poly_pair> key_product(context& ctx, std::span<const rns::raised_digits> digits,
                                                 const evaluation_key& key,
                                                 std::span<const product_options> options);

/// A key product that shares calls of the backend with others.
struct joined_product {
  const rns::raised_digits* digits = nullptr;
  const evaluation_key* key = nullptr;
  product_options options{};
  /// The product, over special + chain primes. Polynomials that are there already are added to, and are no
  /// operands of any product of the list.
  poly_pair total{};
};

/// Key products of one chain window, each with a key of its own, such as rotations of one decomposed
/// polynomial. On devices with a cache (see `context::cache_bytes`) one call of the backend makes several, as
/// many as touch a small part of `context::joining_budget`; the integers are the same.
/// @throws invalid_argument as `key_product`, and for different windows
void key_products(context& ctx, std::span<joined_product> products);

/// total = the sum of key products, each through its automorphism and with its own addends: rotations of
/// several polynomials that are added, which are written once. `total` is added to where it is there already.
/// Calls of the backend as those of `key_products`; the totals of the products are not used.
/// @param total over special + chain primes, no operand of any product; or empty
/// @throws invalid_argument as `key_products`, for none, and for some products with `extended0` and others
///   without
void key_product_sum(context& ctx, std::span<const joined_product> products, poly_pair& total);

/// A polynomial that a key is to be multiplied with, and what is added.
struct switch_source {
  backend::limb_view polynomial;
  backend::limb_view plus0{};  ///< as those of `key_product`
  backend::limb_view plus1{};
  const ring::poly* extended0 = nullptr;  ///< in place of the plus views, as that of `product_options`
};

/// `key_product` of a polynomial that is decomposed for this key only. On devices with a cache (see
/// `context::cache_bytes`) it goes in groups of primes small enough for the raised digits to stay in it; the
/// integers are the same.
/// @throws invalid_argument when the key has too few digits
[[nodiscard]] poly_pair switch_product(context& ctx, const backend::limb_view& source,
                                       const evaluation_key& key, const backend::limb_view& plus0 = {},
                                       const backend::limb_view& plus1 = {});
/// The same of several polynomials of one chain window, in joined calls of the backend. Groups of primes are
/// small enough for the digits of all of them.
/// @throws invalid_argument also for none, and for different windows
[[nodiscard]] std::vector<poly_pair> switch_product(context& ctx, std::span<const switch_source> sources,
                                                    const evaluation_key& key);

/// Polynomials over `chain` that `switch_product` takes in one group of primes on a device with a cache: a
/// key is read once for all of them, and more would be cut. At least 1.
[[nodiscard]] std::size_t switched_in_one_group(context& ctx, arith::window chain);

/// A key and the automorphism X -> X^galois_element that its product goes through.
struct switch_term {
  const evaluation_key* key = nullptr;
  std::uint64_t galois_element = 1;
};

/// total = sum_t X^(g_t)(source * key_t + what is added), which `accumulate` adds to what `total` holds: one
/// decomposition for all keys, sums over special + chain primes, automorphisms within the products. Groups of
/// primes as in `switch_product`, several keys in a call as in `key_products`.
/// @param total over the special primes and the chain of the source; no operand of it
/// @throws invalid_argument as `switch_product` and `key_product`, for no terms, and for a total that spans
///   other primes
void switch_sum(context& ctx, const switch_source& source, std::span<const switch_term> terms,
                const poly_pair& total, bool accumulate);

/// Divides both polynomials by P with rounding; results over the chain window of `level`.
[[nodiscard]] poly_pair divide_by_special(context& ctx, const poly_pair& extended, unsigned level,
                                          memory::object_class cls, const char* tag);

/// dst += P * src on the chain limbs of an extended polynomial (P = product of the special primes, 0 on their
/// limbs).
void add_times_special(context& ctx, const ring::poly& extended, const backend::limb_view& src);
/// The same of both polynomials of a pair, in one call of the backend.
void add_times_special(context& ctx, const poly_pair& extended, const backend::limb_view& first,
                       const backend::limb_view& second);
/// extended = P * (first, second), which span its chain.
void set_times_special(context& ctx, const poly_pair& extended, const backend::limb_view& first,
                       const backend::limb_view& second);

/// Divides extended components (special + chain of `level`) by P and, when `target` is below `level`,
/// rescales in the same division.
[[nodiscard]] std::vector<ring::poly> finish_switch(context& ctx, const poly_pair& extended, unsigned level,
                                                    unsigned target);
/// The same of several pairs in joined calls of the backend.
[[nodiscard]] std::vector<std::vector<ring::poly>> finish_switch(context& ctx,
                                                                 std::span<const poly_pair> extended,
                                                                 unsigned level, unsigned target);

}  // namespace halocline::ckks

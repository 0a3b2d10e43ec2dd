// SPDX-License-Identifier: Apache-2.0
#include "circuits/turned_sums.hpp"

#include <algorithm>
#include <utility>

#include "halocline/rns/mod_down.hpp"
#include "halocline/rns/mod_up.hpp"

namespace halocline::circuits::detail {
namespace {

using ckks::joined_product;
using ckks::poly_pair;

constexpr const char* tag = "linear_transform.giant";

/// Decompositions of the second components of `sums`, and the products that they are for.
class turned_products {
 public:
  turned_products(ckks::context& ctx, const transform_plan& plan, std::span<turned_sum> sums) {
    const bool extended = plan.mode() == transform_mode::double_hoisted;
    std::vector<backend::limb_view> inputs;
    if (extended) {
      divided_ = divide(ctx, plan, sums);
      for (const ring::poly& each : divided_) inputs.push_back(each.chain());
    } else {
      for (const turned_sum& each : sums) inputs.push_back(each.sum.second.chain());
    }
    const bool joined = std::all_of(sums.begin(), sums.end(), [&](const turned_sum& each) {
      return ckks::joins_transforms(ctx, *each.key, inputs.front().primes);
    });
    digits_ = rns::mod_up(ctx.ring(), ctx.converter(), inputs,
                          joined ? rns::digit_form::coefficients : rns::digit_form::points);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      joined_product& product = products.emplace_back();
      product.digits = &digits_[i];
      product.key = sums[i].key;
      product.options.galois_element = sums[i].galois_element;
      product.options.tag = tag;
      if (extended) {
        product.options.extended0 = &sums[i].sum.first;
      } else {
        product.options.plus0 = sums[i].sum.first.chain();
      }
      product.total = std::move(sums[i].onto);
    }
  }

  std::vector<joined_product> products;

 private:
  /// The second components divided by P, which are not kept.
  static std::vector<ring::poly> divide(ckks::context& ctx, const transform_plan& plan,
                                        std::span<turned_sum> sums) {
    const arith::window chain = plan.parameters().level(plan.level()).q;
    const rns::division step{plan.parameters().special_window(), chain, chain, {}};
    std::vector<const ring::poly*> sources;
    for (const turned_sum& each : sums) sources.push_back(&each.sum.second);
    std::vector<ring::poly> divided =
        rns::divide(ctx.ring(), ctx.converter(), step, sources, memory::object_class::scratch, tag);
    for (turned_sum& each : sums) each.sum.second = {};
    return divided;
  }

  std::vector<ring::poly> divided_;  ///< with limbs of digits
  std::vector<rns::raised_digits> digits_;
};

}  // namespace

std::vector<poly_pair> turn_each(ckks::context& ctx, const transform_plan& plan,
                                 std::vector<turned_sum> sums) {
  turned_products turned(ctx, plan, sums);
  ckks::key_products(ctx, turned.products);
  std::vector<poly_pair> results;
  for (joined_product& each : turned.products) results.push_back(std::move(each.total));
  return results;
}

void add_turned(ckks::context& ctx, const transform_plan& plan, std::vector<turned_sum> sums,
                poly_pair& total) {
  const turned_products turned(ctx, plan, sums);
  ckks::key_product_sum(ctx, turned.products, total);
}

}  // namespace halocline::circuits::detail

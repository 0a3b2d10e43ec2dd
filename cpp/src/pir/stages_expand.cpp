// SPDX-License-Identifier: Apache-2.0
// ExpandQuery of OnionPIRv2 (ePrint 2025/1142), after Angel, Chen, Laine and Setty ("PIR with compressed
// queries and amortized query processing", 2018, section 3.3).
#include <algorithm>
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"
#include "pir/stages_detail.hpp"

namespace halocline::pir {
namespace {

using backend::poly_array;

/// The expansions of a batch, level by level. The levels of a query alternate between two buffers, so that
/// the last one fills that of the leaves, or its beginning where it turns some.
class expansion {
 public:
  expansion(context& ctx, std::span<const client_query> queries, const fusion_choice& how)
      : ctx_(ctx),
        queries_(queries),
        how_(how),
        split_(ctx.shape().at.expansion),
        depth_(ctx.shape().at.expansion_depth(ctx.shape().scheme)),
        leaves_(static_cast<std::uint32_t>(ctx.shape().at.packed(ctx.shape().scheme))) {
    for (const client_query& query : queries) check(query);
    constexpr auto scratch = memory::object_class::scratch;
    if (depth_ > 0 && how.turned && detail::fusion_of(how.expansion, depth_ - 1) != fusion::operation) {
      turned_ = ctx.shape().at.rows;
    }
    const std::uint32_t even = std::max(leaves_ - turned_, depth_ >= 2 ? nodes(depth_ - 2) : 0);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      even_.push_back(even == 0 ? memory::buffer{} : ctx.make_ciphertexts(even, scratch, "pir.leaves"));
      if (turned_ > 0) selectors_.push_back(ctx.make_ciphertexts(turned_, scratch, "pir.selectors"));
      if (depth_ > 0) odd_.push_back(ctx.make_ciphertexts(nodes(depth_ - 1), scratch, "pir.expansion"));
    }
  }

  [[nodiscard]] std::vector<query_leaves> run() {
    load_roots();
    make_scratch();
    for (unsigned level = 1; level <= depth_; ++level) {
      if (detail::fusion_of(how_.expansion, level - 1) == fusion::operation) {
        expand_by_operations(level);
      } else {
        expand_fused(level);
      }
    }
    std::vector<query_leaves> made(queries_.size());
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      if (turned_ < leaves_) made[i].data = std::move(even_[i]);
      made[i].first = turned_;
      if (turned_ > 0) made[i].selectors = std::move(selectors_[i]);
    }
    return made;
  }

 private:
  void check(const client_query& query) const {
    HALOCLINE_EXPECTS(query.keys != nullptr && query.message != nullptr && query.keys->levels >= depth_,
                      invalid_argument, "retrieval: a query without keys or with keys for ",
                      query.keys == nullptr ? 0 : query.keys->levels, " levels of expansion; expected ",
                      depth_);
    HALOCLINE_EXPECTS(query.message->c0.size() * sizeof(std::uint32_t) == ctx_.polynomial_bytes(),
                      invalid_argument, "retrieval: a query of ", query.message->c0.size(),
                      " residues; expected ", ctx_.polynomial_bytes() / sizeof(std::uint32_t));
  }

  /// Nodes of a level that have leaves below them that are wanted.
  [[nodiscard]] std::uint32_t nodes(unsigned level) const noexcept {
    return ((leaves_ - 1) >> (depth_ - level)) + 1;
  }
  [[nodiscard]] const memory::buffer& at(std::size_t query, unsigned level) const noexcept {
    return (depth_ - level) % 2 == 0 ? even_[query] : odd_[query];
  }
  [[nodiscard]] poly_array rows(std::size_t query, unsigned level) const noexcept {
    return ctx_.ciphertexts(queries_[query].keys->rows, (level - 1) * detail::digits_of(ctx_, split_));
  }
  /// Of X -> X^(N / 2^(level - 1) + 1).
  [[nodiscard]] const memory::buffer& permutation(unsigned level) {
    return ctx_.ring().permutation((ctx_.tables().n() >> (level - 1)) + 1);
  }
  [[nodiscard]] poly_array monomial(unsigned level) {
    return detail::polynomials(ctx_, ctx_.monomial(level));
  }

  void load_roots() {
    // One copy for all: each one takes the host as long as that of several queries.
    const memory::buffer sent = detail::make_polynomials(ctx_, queries_.size(), "pir.queries");
    std::vector<std::uint32_t> words;
    std::vector<backend::unary_job> copies;
    std::vector<backend::uniform_job> uniform;
    const backend::window all{0, ctx_.limbs()};
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      const query_message& message = *queries_[i].message;
      words.insert(words.end(), message.c0.begin(), message.c0.end());
      copies.push_back({{&at(i, 0), 0, all}, {&sent, static_cast<std::uint32_t>(i) * ctx_.limbs(), all}});
      uniform.push_back({{&at(i, 0), ctx_.limbs(), all}, {message.seed, 0}});
    }
    ctx_.device().upload(sent, 0, std::as_bytes(std::span(words)));
    ctx_.device().copy(ctx_.tables(), copies);
    ctx_.device().sample_uniform(ctx_.tables(), uniform);
  }

  /// For the largest level that takes single operations.
  void make_scratch() {
    std::size_t parents = 0;
    for (unsigned level = 1; level <= depth_; ++level) {
      if (detail::fusion_of(how_.expansion, level - 1) == fusion::operation) parents = nodes(level - 1);
    }
    if (parents == 0) return;
    parents *= queries_.size();
    coefficients_ = detail::make_polynomials(ctx_, parents, "pir.expansion.coefficients");
    digits_ =
        detail::make_polynomials(ctx_, parents * detail::digits_of(ctx_, split_), "pir.expansion.digits");
    rotated_ = ctx_.make_ciphertexts(parents, memory::object_class::scratch, "pir.expansion.turned");
  }

  void expand_fused(unsigned level) {
    std::vector<backend::expand_job> jobs;
    const std::uint32_t turned = level == depth_ ? turned_ : 0;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      backend::expand_job& job = jobs.emplace_back();
      if (turned < nodes(level)) job.dst = ctx_.ciphertexts(at(i, level));
      job.src = ctx_.ciphertexts(at(i, level - 1));
      job.rows = rows(i, level);
      job.monomial = monomial(level);
      job.permutation = &permutation(level);
      job.children = nodes(level);
      job.split = detail::split_of(split_);
      if (turned > 0) job.points = {&selectors_[i], 2 * turned, ctx_.point_block()};
      job.turned = turned;
    }
    ctx_.device().expand_node(ctx_.tables(), jobs);
  }

  void expand_by_operations(unsigned level) {
    const std::uint32_t parents = nodes(level - 1), terms = detail::digits_of(ctx_, split_);
    std::vector<detail::digit_task> tasks;
    std::vector<backend::digit_product_job> products;
    std::vector<backend::children_job> children;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      const memory::buffer& src = at(i, level - 1);
      const poly_array digits = detail::polynomials(ctx_, digits_, i * parents * terms);
      const poly_array turned = ctx_.ciphertexts(rotated_, static_cast<std::uint32_t>(i * parents));
      tasks.push_back(
          {digits, detail::polynomials(ctx_, coefficients_, i * parents), ctx_.component(src, 1), parents});
      products.push_back({.dst = turned,
                          .digits = digits,
                          .rows = rows(i, level),
                          .terms = terms,
                          .count = parents,
                          .plus0 = ctx_.component(src, 0),
                          .permutation = &permutation(level)});
      children.push_back(
          {ctx_.ciphertexts(at(i, level)), ctx_.ciphertexts(src), turned, monomial(level), nodes(level)});
    }
    detail::make_digits(ctx_, tasks, split_);
    ctx_.device().digit_product(ctx_.tables(), products);
    ctx_.device().expand_children(ctx_.tables(), children);
  }

  context& ctx_;
  std::span<const client_query> queries_;
  const fusion_choice& how_;
  gadget split_;
  unsigned depth_;
  std::uint32_t leaves_;
  std::uint32_t turned_ = 0;                ///< leaves that the last level turns
  std::vector<memory::buffer> even_, odd_;  ///< levels at an even and at an odd distance from the leaves
  std::vector<memory::buffer> selectors_;   ///< turned leaves
  memory::buffer coefficients_, digits_, rotated_;
};

}  // namespace

std::vector<query_leaves> expand(context& ctx, std::span<const client_query> queries,
                                 const fusion_choice& how) {
  if (queries.empty()) return {};
  return expansion(ctx, queries, how).run();
}

}  // namespace halocline::pir

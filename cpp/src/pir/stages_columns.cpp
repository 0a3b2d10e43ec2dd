// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <vector>

#include "halocline/core/expects.hpp"
#include "pir/stages_detail.hpp"

namespace halocline::pir {
namespace {

/// Selections of one bit: of `count` pairs in each plane, the second one `distance` columns behind the first.
struct pairing {
  unsigned bit = 0;
  std::uint32_t count = 0;
  std::uint32_t distance = 0;
};

class column_selection {
 public:
  column_selection(context& ctx, std::span<const expanded_query> queries,
                   std::span<const memory::buffer> columns, const column_part& part)
      : ctx_(ctx),
        queries_(queries),
        columns_(columns),
        split_(ctx.shape().at.selection),
        planes_(ctx.shape().planes()),
        part_(part),
        stride_(part.columns) {}

  void run(const fusion_choice& how) {
    const std::vector<pairing> levels = pairings();
    make_scratch(levels, how);
    for (unsigned level = 0; level < levels.size();) {
      const fusion each = detail::fusion_of(how.selection, level);
      const auto count = std::min<std::size_t>(levels_of(each), levels.size() - level);
      if (each == fusion::operation) {
        select_by_operations(levels[level]);
      } else if (count == 1) {
        select_fused(levels[level]);
      } else {
        select_subtrees(levels[level], levels[level + count - 1]);
      }
      level += static_cast<unsigned>(count);
    }
  }

 private:
  /// From the most significant bit on.
  [[nodiscard]] std::vector<pairing> pairings() const {
    std::vector<pairing> levels;
    std::uint32_t left = part_.columns;
    for (auto bit = static_cast<unsigned>(std::bit_width(part_.columns - 1)); bit-- > 0;) {
      const std::uint32_t distance = std::uint32_t{1} << bit;
      levels.push_back({part_.first_bit + bit, left - distance, distance});
      left = distance;
    }
    return levels;
  }

  /// For the largest level that takes single operations.
  void make_scratch(std::span<const pairing> levels, const fusion_choice& how) {
    std::size_t pairs = 0;
    for (unsigned level = 0; level < levels.size();) {
      const fusion each = detail::fusion_of(how.selection, level);
      if (each == fusion::operation) pairs = std::max<std::size_t>(pairs, levels[level].count);
      level += levels_of(each);
    }
    if (pairs == 0) return;
    pairs *= queries_.size() * planes_;
    differences_ = ctx_.make_ciphertexts(pairs, memory::object_class::scratch, "pir.selection.differences");
    digits_ =
        detail::make_polynomials(ctx_, 2 * pairs * detail::digits_of(ctx_, split_), "pir.selection.digits");
  }

  [[nodiscard]] backend::poly_array rows(std::size_t query, const pairing& pairs) const noexcept {
    return ctx_.ciphertexts(queries_[query].bits, 2 * pairs.bit * detail::digits_of(ctx_, split_));
  }

  /// Calls `body(query, x, y)` for each query and plane, x and y the first ciphertexts of pairs.
  template <typename BodyT>
  void for_each_plane(const pairing& pairs, const BodyT& body) const {
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      for (std::uint32_t plane = 0; plane < planes_; ++plane) {
        body(i, plane * stride_, plane * stride_ + pairs.distance);
      }
    }
  }

  void select_fused(const pairing& pairs) {
    std::vector<backend::select_job> jobs;
    for_each_plane(pairs, [&](std::size_t i, std::uint32_t x, std::uint32_t y) {
      const backend::poly_array first = ctx_.ciphertexts(columns_[i], x);
      jobs.push_back({first, first, ctx_.ciphertexts(columns_[i], y), rows(i, pairs), pairs.count,
                      detail::split_of(split_)});
    });
    ctx_.device().select_pair(ctx_.tables(), jobs);
  }

  /// From a level to a later one.
  void select_subtrees(const pairing& from, const pairing& to) {
    std::vector<backend::select_tree_job> jobs;
    for_each_plane(from, [&](std::size_t i, std::uint32_t x, std::uint32_t) {
      jobs.push_back({ctx_.ciphertexts(columns_[i], x), rows(i, to), from.distance + from.count, to.distance,
                      from.bit - to.bit + 1, detail::split_of(split_)});
    });
    ctx_.device().select_tree(ctx_.tables(), jobs);
  }

  void select_by_operations(const pairing& pairs) {
    const std::uint32_t terms = 2 * detail::digits_of(ctx_, split_);
    std::vector<backend::array_sub_job> subtractions;
    std::vector<detail::digit_task> tasks;
    std::vector<backend::digit_product_job> products;
    std::uint32_t done = 0;
    for_each_plane(pairs, [&](std::size_t i, std::uint32_t x, std::uint32_t y) {
      const memory::buffer& data = columns_[i];
      const backend::poly_array both = detail::polynomials(ctx_, differences_, 2 * std::size_t{done});
      const backend::poly_array digits = detail::polynomials(ctx_, digits_, std::size_t{done} * terms);
      subtractions.push_back({ctx_.ciphertexts(differences_, done), ctx_.ciphertexts(data, y),
                              ctx_.ciphertexts(data, x), pairs.count});
      tasks.push_back({digits, both, both, 2 * pairs.count});
      products.push_back({.dst = ctx_.ciphertexts(data, x),
                          .digits = digits,
                          .rows = rows(i, pairs),
                          .terms = terms,
                          .count = pairs.count,
                          .plus0 = ctx_.component(data, 0, x),
                          .plus1 = ctx_.component(data, 1, x)});
      done += pairs.count;
    });
    ctx_.device().array_sub(ctx_.tables(), subtractions);
    detail::make_digits(ctx_, tasks, split_);
    ctx_.device().digit_product(ctx_.tables(), products);
  }

  context& ctx_;
  std::span<const expanded_query> queries_;
  std::span<const memory::buffer> columns_;
  gadget split_;
  std::uint32_t planes_;
  column_part part_;
  std::uint32_t stride_;
  memory::buffer differences_, digits_;
};

void check_columns(const context& ctx, std::span<const memory::buffer> columns, const column_part& part) {
  const unsigned bits = ctx.shape().at.column_bits();
  HALOCLINE_EXPECTS(part.columns > 0 && part.first_bit + std::bit_width(part.columns - 1) <= bits,
                    invalid_argument, "retrieval: ", part.columns, " columns from bit ", part.first_bit,
                    " of their number on; the database has ", bits, " such bits");
  const std::size_t count = std::size_t{ctx.shape().planes()} * part.columns;
  for (const memory::buffer& each : columns) {
    HALOCLINE_EXPECTS(each.size() == 2 * count * ctx.polynomial_bytes(), invalid_argument,
                      "retrieval: ", each.size() / (2 * ctx.polynomial_bytes()),
                      " columns of a query; expected ", count);
  }
}

}  // namespace

column_part all_columns(const context& ctx) noexcept { return {ctx.shape().at.columns, 0}; }

void select_columns(context& ctx, std::span<const expanded_query> queries,
                    std::span<const memory::buffer> columns, const column_part& part,
                    const fusion_choice& how) {
  HALOCLINE_EXPECTS(queries.size() == columns.size(), invalid_argument, "retrieval: columns of ",
                    columns.size(), " queries for ", queries.size(), " queries");
  check_columns(ctx, columns, part);
  if (!queries.empty()) column_selection(ctx, queries, columns, part).run(how);
}

}  // namespace halocline::pir

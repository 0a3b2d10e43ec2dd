// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"
#include "pir/stages_detail.hpp"

namespace halocline::pir {
namespace {

/// The row selections of a batch.
class row_selection {
 public:
  row_selection(context& ctx, database& from, std::span<const column_group> groups,
                std::span<const expanded_query> queries)
      : ctx_(ctx), from_(from), groups_(groups), queries_(queries), planes_(ctx.shape().planes()) {
    for (const column_group& group : groups) columns_ += group.columns;
  }

  [[nodiscard]] std::vector<memory::buffer> run() {
    std::vector<memory::buffer> made;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      made.push_back(ctx_.make_ciphertexts(std::size_t{planes_} * columns_, memory::object_class::scratch,
                                           "pir.columns"));
    }
    std::uint32_t first = 0;
    for (const column_group& group : groups_) {
      if (planes_ == 1 || group.columns == columns_) {
        select(group, made, first);
      } else {
        select_planes(group, made, first);
      }
      first += group.columns;
    }
    return made;
  }

 private:
  /// The columns of a group, of all planes, go to the ciphertexts from `first` on.
  void select(const column_group& group, std::span<const memory::buffer> to, std::uint32_t first) {
    backend::row_select_job job;
    job.database = from_.points(group, transformed_);
    job.rows = ctx_.shape().at.rows;
    job.columns = planes_ * group.columns;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      job.queries.push_back(
          {{&queries_[i].selectors, 2 * job.rows, ctx_.point_block()}, ctx_.ciphertexts(to[i], first)});
    }
    ctx_.device().row_select(ctx_.tables(), {&job, 1});
  }

  /// A group has its columns plane by plane, and so has the result, but there other groups stand between
  /// them: the results are copied. A column is the sum of N0 products, so that copies take little.
  void select_planes(const column_group& group, std::span<const memory::buffer> to, std::uint32_t first) {
    std::vector<memory::buffer> parts;
    std::vector<backend::unary_job> copies;
    const std::uint32_t limbs = ctx_.limbs();
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      parts.push_back(ctx_.make_ciphertexts(std::size_t{planes_} * group.columns,
                                            memory::object_class::scratch, "pir.group"));
    }
    select(group, parts, 0);
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      for (std::uint32_t plane = 0; plane < planes_; ++plane) {
        for (std::uint32_t polynomial = 0; polynomial < 2 * group.columns; ++polynomial) {
          const std::uint32_t dst = 2 * (plane * columns_ + first) + polynomial;
          const std::uint32_t src = 2 * plane * group.columns + polynomial;
          copies.push_back({{&to[i], dst * limbs, {0, limbs}}, {&parts[i], src * limbs, {0, limbs}}});
        }
      }
    }
    ctx_.device().copy(ctx_.tables(), copies);
  }

  context& ctx_;
  database& from_;
  std::span<const column_group> groups_;
  std::span<const expanded_query> queries_;
  std::uint32_t planes_;
  std::uint32_t columns_ = 0;
  memory::buffer transformed_;  ///< points of raw groups, one after the other
};

}  // namespace

std::vector<memory::buffer> select_rows(context& ctx, database& from, std::span<const column_group> groups,
                                        std::span<const expanded_query> queries) {
  if (queries.empty()) return {};
  HALOCLINE_EXPECTS(!groups.empty(), invalid_argument,
                    "retrieval: a database without columns; expected at least one");
  return row_selection(ctx, from, groups, queries).run();
}

std::vector<memory::buffer> select_rows(context& ctx, database& from,
                                        std::span<const expanded_query> queries) {
  return select_rows(ctx, from, from.groups(), queries);
}

}  // namespace halocline::pir

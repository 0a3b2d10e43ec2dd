// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"
#include "pir/stages_detail.hpp"

namespace halocline::pir {
namespace {

std::uint32_t columns_of(std::span<const column_group> groups) {
  std::uint32_t columns = 0;
  for (const column_group& each : groups) columns += each.columns;
  return columns;
}

/// Groups that have `at_once` columns together; the last of them fewer.
std::vector<std::span<const column_group>> parts_of(std::span<const column_group> groups,
                                                    std::uint32_t at_once) {
  std::vector<std::span<const column_group>> parts;
  std::size_t begin = 0;
  std::uint32_t columns = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    columns += groups[i].columns;
    HALOCLINE_EXPECTS(columns <= at_once, invalid_argument, "retrieval: groups of ", groups.front().columns,
                      " columns in parts of ", at_once, "; expected a multiple of that");
    if (columns < at_once && i + 1 < groups.size()) continue;
    parts.push_back(groups.subspan(begin, i + 1 - begin));
    begin = i + 1;
    columns = 0;
  }
  return parts;
}

/// Copies ciphertext p * from_stride to number p * to_stride + place, for each plane p of each query.
void keep_results(context& ctx, std::span<const memory::buffer> from, std::uint32_t from_stride,
                  std::span<const memory::buffer> to, std::uint32_t to_stride, std::uint32_t place) {
  const std::uint32_t limbs = ctx.limbs();
  std::vector<backend::unary_job> copies;
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (std::uint32_t plane = 0; plane < ctx.shape().planes(); ++plane) {
      for (std::uint32_t c = 0; c < 2; ++c) {
        const std::uint32_t dst = 2 * (plane * to_stride + place) + c, src = 2 * plane * from_stride + c;
        copies.push_back({{&to[i], dst * limbs, {0, limbs}}, {&from[i], src * limbs, {0, limbs}}});
      }
    }
  }
  ctx.device().copy(ctx.tables(), copies);
}

}  // namespace

selected_columns select_in_parts(context& ctx, database& from, std::span<const expanded_query> queries,
                                 unsigned first_bit, std::uint32_t at_once, const fusion_choice& how,
                                 const std::function<void(selection_stage)>& after) {
  if (queries.empty()) return {};
  const auto select = [&](std::span<const memory::buffer> data, const column_part& part) {
    if (after) after(selection_stage::rows);
    select_columns(ctx, queries, data, part, how);
    if (after) after(selection_stage::columns);
  };
  const std::uint32_t columns = columns_of(from.groups());
  if (at_once == 0 || at_once >= columns) {
    selected_columns all{select_rows(ctx, from, queries), columns};
    select(all.data, {columns, first_bit});
    return all;
  }
  HALOCLINE_EXPECTS(std::has_single_bit(at_once), invalid_argument, "retrieval: parts of ", at_once,
                    " columns; expected a power of two");
  const std::vector<std::span<const column_group>> parts = parts_of(from.groups(), at_once);
  selected_columns result;
  result.stride = static_cast<std::uint32_t>(parts.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    result.data.push_back(ctx.make_ciphertexts(std::size_t{ctx.shape().planes()} * result.stride,
                                               memory::object_class::scratch, "pir.parts"));
  }
  for (std::uint32_t part = 0; part < parts.size(); ++part) {
    const std::vector<memory::buffer> sums = select_rows(ctx, from, parts[part], queries);
    const std::uint32_t width = columns_of(parts[part]);
    select(sums, {width, first_bit});
    keep_results(ctx, sums, width, result.data, result.stride, part);
  }
  const auto bits = static_cast<unsigned>(std::bit_width(at_once - 1));
  select(result.data, {result.stride, first_bit + bits});
  return result;
}

}  // namespace halocline::pir

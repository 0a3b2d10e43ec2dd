// SPDX-License-Identifier: Apache-2.0
#include <span>
#include <vector>

#include "pir/stages_detail.hpp"

namespace halocline::pir {

std::vector<std::vector<std::uint64_t>> round_answers(context& ctx, const selected_columns& selected_from) {
  const std::span<const memory::buffer> columns = selected_from.data;
  if (columns.empty()) return {};
  const layout& at = ctx.shape().at;
  const std::uint32_t planes = ctx.shape().planes();
  const auto answers = static_cast<std::uint32_t>(columns.size()) * planes;
  const std::size_t words = 2 * ctx.tables().n() * planes;
  const memory::buffer selected =
      ctx.make_ciphertexts(answers, memory::object_class::scratch, "pir.answer.coefficients");
  const memory::buffer rounded = ctx.runtime().allocate(columns.size() * words * sizeof(std::uint64_t),
                                                        memory::object_class::scratch, "pir.answer");
  std::vector<backend::array_job> inverse;
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    for (unsigned c = 0; c < 2; ++c) {
      backend::poly_array src = ctx.component(columns[i], c);
      src.stride *= selected_from.stride;
      inverse.push_back({ctx.component(selected, c, i * planes), src, planes});
    }
  }
  ctx.device().array_intt(ctx.tables(), inverse);
  const backend::round_answer_job round{
      &rounded, 0, ctx.ciphertexts(selected), answers, {at.answer_bits0, at.answer_bits1}};
  ctx.device().round_answer(ctx.tables(), {&round, 1});
  std::vector<std::uint64_t> all(columns.size() * words);  // one copy: each one waits for the device
  ctx.device().download(std::as_writable_bytes(std::span(all)), rounded, 0);
  std::vector<std::vector<std::uint64_t>> result;
  for (auto from = all.cbegin(); from != all.cend(); from += static_cast<std::ptrdiff_t>(words)) {
    result.emplace_back(from, from + static_cast<std::ptrdiff_t>(words));
  }
  return result;
}

}  // namespace halocline::pir

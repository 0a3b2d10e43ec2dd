// SPDX-License-Identifier: Apache-2.0
#include "pir/stages_detail.hpp"

#include <algorithm>
#include <vector>

#include "halocline/core/expects.hpp"

namespace halocline::pir::detail {

memory::buffer make_polynomials(context& ctx, std::size_t count, const char* tag) {
  return ctx.runtime().allocate(count * ctx.polynomial_bytes(), memory::object_class::scratch, tag);
}

backend::poly_array polynomials(const context& ctx, const memory::buffer& data, std::size_t first) noexcept {
  return {&data, static_cast<std::uint32_t>(first * ctx.limbs()), ctx.limbs()};
}

void make_digits(context& ctx, std::span<const digit_task> tasks, const gadget& of) {
  std::vector<backend::array_job> inverse, forward;
  std::vector<backend::split_job> splits;
  for (const digit_task& task : tasks) {
    inverse.push_back({task.coefficients, task.src, task.count});
    splits.push_back({task.digits, task.coefficients, task.count, split_of(of)});
    forward.push_back({task.digits, task.digits, task.count * digits_of(ctx, of)});
  }
  backend::backend& device = ctx.device();
  device.array_intt(ctx.tables(), inverse);
  device.split_digits(ctx.tables(), splits);
  device.array_ntt(ctx.tables(), forward);
}

fusion fusion_of(std::span<const fusion> levels, unsigned level) {
  HALOCLINE_EXPECTS(!levels.empty(), invalid_argument,
                    "retrieval: no fusion for the levels of a tree; expected at least one entry");
  return levels[std::min<std::size_t>(level, levels.size() - 1)];
}

}  // namespace halocline::pir::detail

// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "circuits/transform_executor.hpp"
#include "halocline/ckks/context.hpp"

namespace halocline::circuits::detail {
namespace {

constexpr const char* diagonal_tag = "linear_transform.diagonal";

using memory::object_class;

}  // namespace

std::vector<ring::poly> expand_diagonals(ckks::context& ctx,
                                         std::span<const ckks::compact_plaintext* const> sources,
                                         const transform_plan& plan, memory::object_class cls) {
  const params::parameters& parameters = ctx.parameters();
  const bool extended = plan.mode() == transform_mode::double_hoisted;
  const arith::window special = extended ? parameters.special_window() : arith::window{};
  std::vector<ring::poly> results;
  results.reserve(sources.size());  // views point to polynomials
  std::vector<backend::encode_job> encodings;
  std::vector<backend::unary_job> transforms;
  for (const ckks::compact_plaintext* const source : sources) {
    results.emplace_back(ctx.ring(), special, parameters.level(plan.level()).q, cls, diagonal_tag);
    for (const backend::limb_view& view : results.back().views()) {
      encodings.push_back({view, &source->coefficients, 1, source->log_stride(parameters.log_n())});
      transforms.push_back({view, view});
    }
  }
  ctx.device().encode_expand(ctx.tables(), encodings);
  ctx.device().ntt(ctx.tables(), transforms);
  return results;
}

ring::poly expand_diagonal(ckks::context& ctx, const ckks::compact_plaintext& source,
                           const transform_plan& plan, memory::object_class cls, unsigned log_repeat) {
  const ckks::compact_plaintext* const sources[] = {&source};
  ring::poly whole =
      std::move(expand_diagonals(ctx, sources, plan, log_repeat == 0 ? cls : object_class::scratch).front());
  if (log_repeat == 0) return whole;
  ring::poly few(ctx.ring(), whole.special().primes, whole.chain().primes, cls, diagonal_tag, false,
                 log_repeat);
  std::vector<backend::unary_job> copies;
  for (std::size_t v = 0; v < few.views().size(); ++v) copies.push_back({few.views()[v], whole.views()[v]});
  ctx.device().copy(ctx.tables(), copies);
  return few;
}

}  // namespace halocline::circuits::detail

// SPDX-License-Identifier: Apache-2.0
#include "ckks/coefficient_lift.hpp"

#include <cmath>
#include <span>

#include "ckks/client_tables.hpp"

namespace halocline::ckks {

lift_plan plan_lift(const params::parameters& parameters, arith::window available, double magnitude_bits) {
  const std::span<const std::uint64_t> primes = parameters.primes();
  double bits = 0.0;
  std::uint32_t count = 0;
  while (bits < magnitude_bits + 1.0 && count < available.count) {
    ++count;
    bits += std::log2(static_cast<double>(primes[available.end() - count]));
  }
  if (count + 1 >= available.count) return {available, false};
  return {{available.end() - count - 1, count + 1}, true};
}

std::optional<memory::buffer> lift_coefficients(context& ctx, const backend::limb_view& source, bool guarded,
                                                std::uint32_t count, std::uint32_t stride, double scale,
                                                bool secret) {
  const auto scratch = memory::object_class::scratch;
  memory::buffer result =
      ctx.runtime().allocate(count * sizeof(double), scratch, "encoder.coefficients", secret);
  memory::buffer overflow;
  if (guarded) overflow = ctx.runtime().allocate(sizeof(std::uint64_t), scratch, "encoder.overflow");
  backend::lift_job job{source, &result, count, stride, scale, ctx.client_tables().lift(source.primes),
                        nullptr};
  if (guarded) job.overflow = &overflow;
  ctx.device().lift(ctx.tables(), {&job, 1});
  if (!guarded) return result;
  std::uint64_t found = 0;
  ctx.device().download(std::as_writable_bytes(std::span(&found, 1)), overflow, 0);
  if (found != 0) return std::nullopt;
  return result;
}

}  // namespace halocline::ckks

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckks/coefficient_lift.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/params/presets.hpp"
#include "halocline/ring/poly.hpp"

/// Looks at polynomials from outside: as integers instead of residues.
namespace halocline::test {

/// A context on one thread, deterministic.
[[nodiscard]] inline std::shared_ptr<ckks::context> make_test_context(params::parameters parameters,
                                                                      const char* device = "cpu") {
  backend::backend_options options;
  options.threads = 1;
  return ckks::make_context(std::move(parameters), backend::make_backend(device, options));
}

/// A preset with another Galois generator.
[[nodiscard]] inline params::parameters with_generator(const std::string& preset, unsigned generator) {
  params::literal source = params::preset_literal(preset);
  source.galois_generator = generator;
  return params::parameters::from_literal(source);
}

/// `ckks::lift_coefficients`, downloaded.
[[nodiscard]] inline std::optional<std::vector<double>> lifted(ckks::context& ctx,
                                                               const backend::limb_view& source, bool guarded,
                                                               std::size_t count, std::size_t stride,
                                                               double scale) {
  const auto result = ckks::lift_coefficients(ctx, source, guarded, static_cast<std::uint32_t>(count),
                                              static_cast<std::uint32_t>(stride), scale, false);
  if (!result) return std::nullopt;
  std::vector<double> out(count);
  ctx.device().download(std::as_writable_bytes(std::span(out)), *result, 0);
  return out;
}

/// Integer coefficients of least magnitude of a polynomial in NTT form, as doubles.
[[nodiscard]] inline std::vector<double> integer_coefficients(ckks::context& ctx,
                                                              const backend::limb_view& source) {
  const ring::poly copy = ring::make_poly(ctx.ring(), source.primes, memory::object_class::scratch, "test");
  const backend::unary_job job{copy.chain(), source};
  ctx.device().intt(ctx.tables(), {&job, 1});
  return *lifted(ctx, copy.chain(), false, ctx.parameters().n(), 1, 1.0);
}

/// The words of a limb view, widened.
[[nodiscard]] inline std::vector<std::uint64_t> words_of(ckks::context& ctx,
                                                         const backend::limb_view& source) {
  const std::size_t count = source.primes.count * ctx.tables().n();
  std::vector<std::uint64_t> out(count);
  if (ctx.tables().word_bits == 64) {
    ctx.device().download(std::as_writable_bytes(std::span(out)), *source.data,
                          source.limb * ctx.tables().limb_bytes());
  } else {
    std::vector<std::uint32_t> narrow(count);
    ctx.device().download(std::as_writable_bytes(std::span(narrow)), *source.data,
                          source.limb * ctx.tables().limb_bytes());
    std::copy(narrow.begin(), narrow.end(), out.begin());
  }
  return out;
}

/// Square root of the mean square.
[[nodiscard]] inline double root_mean_square(const std::vector<double>& values) {
  const double sum = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

[[nodiscard]] inline double largest_of(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace halocline::test

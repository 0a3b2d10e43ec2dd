// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/encoder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "ckks/client_tables.hpp"
#include "ckks/coefficient_lift.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

constexpr double one_word_bits = 62.0;
constexpr double two_word_bits = 126.0;
constexpr const char* coefficients_tag = "encoder.coefficients";

std::uint32_t check_slots(const char* operation, std::size_t values, std::optional<std::uint32_t> slots,
                          const params::parameters& parameters) {
  HALOCLINE_EXPECTS(values > 0 || slots, invalid_argument, operation, ": no values; expected at least one");
  HALOCLINE_EXPECTS(values <= parameters.slots() && slots.value_or(0) <= parameters.slots(), invalid_argument,
                    operation, ": ", std::max<std::size_t>(values, slots.value_or(0)),
                    " slots; the parameters have ", parameters.slots(),
                    " (N/2). Split the vector or take a larger ring degree");
  const std::uint32_t chosen = slots ? *slots : static_cast<std::uint32_t>(std::bit_ceil(values));
  HALOCLINE_EXPECTS(std::has_single_bit(chosen), invalid_argument, operation, ": ", chosen,
                    " slots; expected a power of two");
  HALOCLINE_EXPECTS(values <= chosen, invalid_argument, operation, ": ", values, " values for ", chosen,
                    " slots");
  return chosen;
}

void check_scale(const char* operation, double scale) {
  HALOCLINE_EXPECTS(std::isfinite(scale) && scale > 0, invalid_argument, operation, ": scale ", scale,
                    "; expected a positive number");
}

/// Sum of |Re| + |Im| over all values.
/// @throws invalid_argument for a value that is NaN or infinite
double total_magnitude(std::span<const std::complex<double>> values) {
  constexpr std::size_t lanes = 8;  // independent sums, so that the loop vectorises
  std::array<double, lanes> sums{};
  const auto* parts = reinterpret_cast<const double*>(values.data());  // [complex.numbers]: an array of pairs
  const std::size_t count = 2 * values.size();
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += std::abs(parts[i + lane]);
  }
  for (; i < count; ++i) sums[0] += std::abs(parts[i]);
  double total = 0.0;
  for (const double sum : sums) total += sum;
  if (!std::isfinite(total)) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      HALOCLINE_EXPECTS(std::isfinite(values[k].real()) && std::isfinite(values[k].imag()), invalid_argument,
                        "encode: value ", k, " is ", values[k], "; expected finite numbers");
    }
  }
  return total;
}

/// "value (3,4) in slot 5 makes ", of the largest one.
std::string largest_value(std::span<const std::complex<double>> values) {
  const auto smaller = [](const auto& a, const auto& b) {
    return std::max(std::abs(a.real()), std::abs(a.imag())) <
           std::max(std::abs(b.real()), std::abs(b.imag()));
  };
  const auto found = std::max_element(values.begin(), values.end(), smaller);
  const std::string value = found->imag() == 0.0 ? text(found->real()) : text(*found);
  return text("value ", value, " in slot ", found - values.begin(), " makes ");
}

/// `whose`: what is known of the values, such as the largest one.
[[noreturn]] void refuse(const std::string& whose, double coefficient, double scale, double limit_bits) {
  const std::string size = std::isfinite(coefficient) ? text("a coefficient of 2^", std::log2(coefficient))
                                                      : "a coefficient above 2^1023";
  throw invalid_argument(text("encode: values too large: ", whose, size, " (values times scale 2^",
                              std::log2(scale), ") does not fit; the limit is 2^", limit_bits,
                              ". Values of magnitude up to ", std::exp2(limit_bits) / scale,
                              " always fit; use smaller values, a smaller scale or a higher level"));
}

}  // namespace

memory::buffer encoder::to_coefficients(std::span<const std::complex<double>> values, std::uint32_t slots) {
  memory::runtime& runtime = ctx_.runtime();
  const auto scratch = memory::object_class::scratch;
  const memory::buffer& table = ctx_.client_tables().slots(slots);
  const auto count = static_cast<std::uint32_t>(values.size());
  memory::buffer result =
      runtime.allocate(2 * std::size_t{slots} * sizeof(double), scratch, coefficients_tag);
  memory::buffer source;
  if (count > 0) {
    source = runtime.allocate(values.size_bytes(), scratch, "encoder.values");
    ctx_.device().upload(source, 0, std::as_bytes(values));
  }
  const backend::slot_job job{
      backend::slot_direction::to_coefficients,      count > 0 ? &source : &result, count, &result, &table,
      static_cast<unsigned>(std::countr_zero(slots))};
  ctx_.device().slot_transform(ctx_.tables(), {&job, 1});
  return result;
}

double encoder::largest_magnitude(const memory::buffer& coefficients, std::uint32_t count) {
  const memory::buffer found =
      ctx_.runtime().allocate(sizeof(double), memory::object_class::scratch, "encoder.largest");
  backend::round_job job{&coefficients, count};
  job.largest = &found;
  ctx_.device().round_coefficients(ctx_.tables(), {&job, 1});
  double largest = 0.0;
  ctx_.device().download(std::as_writable_bytes(std::span(&largest, 1)), found, 0);
  return largest;
}

encoder::integers encoder::round(std::span<const std::complex<double>> values, double scale,
                                 std::uint32_t slots, double limit_bits, memory::object_class cls,
                                 const char* tag) {
  const double factor = scale / slots;
  const double limit = std::exp2(limit_bits) * (1.0 - 0x1p-40);  // limit_bits is a rounded logarithm
  // Coefficients are averages of the values times roots of unity. Where this bound is not enough, their true
  // size decides; a ghost run takes the same branch, so that its allocations are those of the real run.
  double largest = total_magnitude(values) * factor;
  const bool surely_small = largest < std::min(limit, std::exp2(one_word_bits));
  if (!std::isfinite(largest)) refuse(largest_value(values), largest, scale, limit_bits);
  const memory::buffer coefficients = to_coefficients(values, slots);
  if (!surely_small) {
    const double found = largest_magnitude(coefficients, 2 * slots) * factor;
    if (!ctx_.runtime().is_ghost()) largest = found;
  }
  if (largest >= limit) refuse(largest_value(values), largest, scale, limit_bits);
  integers result;
  result.words = largest < std::exp2(one_word_bits) ? 1 : 2;
  result.data = ctx_.runtime().allocate(2 * slots * result.words * sizeof(std::uint64_t), cls, tag);
  backend::round_job job{&coefficients, 2 * slots, factor, &result.data, result.words, largest};
  job.dense = true;
  ctx_.device().round_coefficients(ctx_.tables(), {&job, 1});
  return result;
}

plaintext encoder::to_plaintext(const backend::encode_job& coefficients, unsigned level) {
  plaintext result;
  result.value = ring::make_poly(ctx_.ring(), ctx_.parameters().level(level).q,
                                 memory::object_class::plaintext, "plaintext");
  result.level = level;
  const backend::limb_view limbs = result.value.chain();
  backend::encode_job residues = coefficients;
  residues.dst = limbs;
  ctx_.device().encode_expand(ctx_.tables(), {&residues, 1});
  const backend::unary_job transformed{limbs, limbs};
  ctx_.device().ntt(ctx_.tables(), {&transformed, 1});
  return result;
}

plaintext encoder::encode(std::span<const std::complex<double>> values, unsigned level, double scale,
                          std::optional<std::uint32_t> slots) {
  const std::uint32_t used = check_slots("encode", values.size(), slots, ctx_.parameters());
  check_scale("encode", scale);
  const double limit_bits = std::min(two_word_bits, ctx_.parameters().level(level).log2_modulus - 1.0);
  const integers rounded =
      round(values, scale, used, limit_bits, memory::object_class::scratch, "encoder.integers");
  const unsigned apart = ctx_.parameters().log_n() - 1 - static_cast<unsigned>(std::countr_zero(used));
  plaintext result = to_plaintext({{}, &rounded.data, rounded.words, apart}, level);
  result.scale = scale;
  result.slots = used;
  return result;
}

plaintext encoder::encode(std::span<const double> values, unsigned level, double scale,
                          std::optional<std::uint32_t> slots) {
  const std::vector<std::complex<double>> complex_values(values.begin(), values.end());
  return encode(complex_values, level, scale, slots);
}

compact_plaintext encoder::encode_compact(std::span<const std::complex<double>> values, double scale,
                                          std::optional<std::uint32_t> slots) {
  const std::uint32_t used = check_slots("encode", values.size(), slots, ctx_.parameters());
  check_scale("encode", scale);
  integers rounded =
      round(values, scale, used, one_word_bits, memory::object_class::plaintext, "compact_plaintext");
  return {std::move(rounded.data), scale, used};
}

plaintext encoder::expand(const compact_plaintext& source, unsigned level) {
  const std::uint32_t slots = check_slots("expand", 0, source.slots, ctx_.parameters());
  const std::size_t count = 2 * std::size_t{slots};
  HALOCLINE_EXPECTS(source.coefficients.size() == count * sizeof(std::int64_t), invalid_argument,
                    "expand: a compact plaintext of ", source.coefficients.size(), " bytes; ", slots,
                    " slots need ", count * sizeof(std::int64_t));
  const double limit_bits = ctx_.parameters().level(level).log2_modulus - 1.0;
  if (limit_bits < one_word_bits) {
    std::vector<std::int64_t> host(count);
    ctx_.device().download(std::as_writable_bytes(std::span(host)), source.coefficients, 0);
    const auto [least, most] = std::minmax_element(host.begin(), host.end());
    const double largest = std::max(-static_cast<double>(*least), static_cast<double>(*most));
    if (largest >= std::exp2(limit_bits) * (1.0 - 0x1p-40)) refuse("", largest, source.scale, limit_bits);
  }
  const unsigned apart = source.log_stride(ctx_.parameters().log_n());
  plaintext result = to_plaintext({{}, &source.coefficients, 1, apart}, level);
  result.scale = source.scale;
  result.slots = source.slots;
  return result;
}

std::vector<std::complex<double>> encoder::decode(const plaintext& source) {
  const params::parameters& parameters = ctx_.parameters();
  const arith::window q = parameters.level(source.level).q;
  const std::uint32_t slots = check_slots("decode", 0, source.slots, parameters);
  check_scale("decode", source.scale);
  HALOCLINE_EXPECTS(source.value.chain().primes == q, invalid_argument, "decode: the plaintext has ",
                    source.value.chain().primes.count, " primes; level ", source.level, " has ", q.count);
  const auto stride = static_cast<std::uint32_t>(parameters.slots() / slots);
  lift_plan plan = plan_lift(parameters, q, std::log2(source.scale) + lift_headroom_bits);
  while (true) {
    const ring::poly coefficients =
        ring::make_poly(ctx_.ring(), plan.primes, memory::object_class::scratch, "encoder.decode");
    const backend::unary_job job{coefficients.chain(), source.value.chain().slice(plan.primes)};
    ctx_.device().intt(ctx_.tables(), {&job, 1});
    const std::optional<memory::buffer> lifted =
        lift_coefficients(ctx_, coefficients.chain(), plan.guarded, 2 * slots, stride, source.scale, false);
    if (lifted) return to_slots(*lifted, slots, false);
    plan = {q, false};
  }
}

std::vector<std::complex<double>> encoder::to_slots(const memory::buffer& coefficients, std::uint32_t slots,
                                                    bool secret) {
  check_slots("to_slots", 0, slots, ctx_.parameters());
  const std::size_t bytes = slots * sizeof(std::complex<double>);
  HALOCLINE_EXPECTS(coefficients.size() == bytes, invalid_argument, "to_slots: coefficients of ",
                    coefficients.size(), " bytes for ", slots, " slots; expected ", bytes);
  const memory::buffer values =
      ctx_.runtime().allocate(bytes, memory::object_class::scratch, "encoder.values", secret);
  const backend::slot_job job{backend::slot_direction::to_slots,
                              &values,
                              slots,
                              &coefficients,
                              &ctx_.client_tables().slots(slots),
                              static_cast<unsigned>(std::countr_zero(slots))};
  ctx_.device().slot_transform(ctx_.tables(), {&job, 1});
  std::vector<std::complex<double>> result(slots);
  ctx_.device().download(std::as_writable_bytes(std::span(result)), values, 0);
  return result;
}

}  // namespace halocline::ckks

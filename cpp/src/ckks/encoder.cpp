// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/encoder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "ckks/coefficient_lift.hpp"
#include "ckks/encoder_fft.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

__extension__ using wide_integer = __int128;

constexpr double one_word_bits = 62.0;
constexpr double two_word_bits = 126.0;

std::uint32_t check_slots(const char* operation, std::size_t values, std::uint32_t slots,
                          const params::parameters& parameters) {
  HALOCLINE_EXPECTS(values > 0 || slots > 0, invalid_argument, operation,
                    ": no values; expected at least one");
  HALOCLINE_EXPECTS(values <= parameters.slots() && slots <= parameters.slots(), invalid_argument, operation,
                    ": ", std::max<std::size_t>(values, slots), " slots; the parameters have ",
                    parameters.slots(), " (N/2). Split the vector or take a larger ring degree");
  const auto chosen = slots != 0 ? slots : static_cast<std::uint32_t>(std::bit_ceil(values));
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

double largest_magnitude(std::span<const double> values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

[[noreturn]] void refuse(double coefficient, double scale, double limit_bits) {
  throw invalid_argument(text("encode: a coefficient of 2^", std::log2(coefficient),
                              " (values times scale 2^", std::log2(scale), ") does not fit; the limit is 2^",
                              limit_bits, ". Values of magnitude up to ", std::exp2(limit_bits) / scale,
                              " always fit; use smaller values, a smaller scale or a higher level"));
}

/// Rounds factor * in[j] to out[j], all below 2^51: adding 1.5 * 2^52 leaves the integer in the low bits of
/// the sum.
void round_small(std::span<const double> in, double factor, std::uint64_t* out) {
  constexpr double magic = 0x1.8p52;
  constexpr auto magic_bits = std::bit_cast<std::uint64_t>(magic);
  for (std::size_t j = 0; j < in.size(); ++j) {
    out[j] = std::bit_cast<std::uint64_t>(in[j] * factor + magic) - magic_bits;
  }
}

/// Rounds factor * in[j] to coefficient j * stride of `out`, of `words` words each, two's complement.
void round_any(std::span<const double> in, double factor, unsigned words, std::size_t stride,
               std::uint64_t* out) {
  for (std::size_t j = 0; j < in.size(); ++j) {
    std::uint64_t* const target = out + j * stride * words;
    const double value = std::nearbyint(in[j] * factor);
    if (words == 1) {
      *target = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    } else {
      const auto wide = static_cast<wide_integer>(value);
      target[0] = static_cast<std::uint64_t>(wide);
      target[1] = static_cast<std::uint64_t>(wide >> 64);
    }
  }
}

}  // namespace

encoder::encoder(context& ctx) : ctx_(ctx) {}
encoder::encoder(encoder&&) noexcept = default;
encoder::~encoder() = default;

const slot_transform& encoder::transform(std::uint32_t slots) {
  std::unique_ptr<slot_transform>& entry = transforms_[slots];
  if (!entry) entry = std::make_unique<slot_transform>(slots, ctx_.parameters().galois_generator());
  return *entry;
}

encoder::integers encoder::round(std::span<const std::complex<double>> values, double scale,
                                 std::uint32_t slots, double limit_bits, memory::object_class cls,
                                 const char* tag) {
  const std::size_t n = ctx_.parameters().n();
  const double factor = scale / slots;
  const double limit = std::exp2(limit_bits) * (1.0 - 0x1p-40);  // limit_bits is a rounded logarithm
  // Coefficients are averages of the values times roots of unity. Where this bound is not enough, their true
  // size decides; a ghost run takes the same way, so that its allocations are those of the real run.
  double largest = total_magnitude(values) * factor;
  const bool surely_small = largest < std::min(limit, std::exp2(one_word_bits));
  if (!surely_small || !ctx_.runtime().is_ghost()) {
    HALOCLINE_EXPECTS(std::isfinite(largest), invalid_argument, "encode: values too large for scale ", scale);
    work_.resize(2 * std::size_t{slots});
    transform(slots).to_coefficients(values, work_);
    if (!surely_small) largest = largest_magnitude(work_) * factor;
  }
  if (largest >= limit) refuse(largest, scale, limit_bits);
  integers result;
  result.words = largest < std::exp2(one_word_bits) ? 1 : 2;
  result.data = ctx_.runtime().allocate(n * result.words * sizeof(std::uint64_t), cls, tag);
  const std::size_t stride = n / (2 * std::size_t{slots});
  staging_.resize(n * result.words);
  if (!ctx_.runtime().is_ghost()) {
    if (stride == 1 && largest < 0x1p50) {
      round_small(work_, factor, staging_.data());
    } else {
      std::fill(staging_.begin(), staging_.end(), 0);
      round_any(work_, factor, result.words, stride, staging_.data());
    }
  }
  ctx_.device().upload(result.data, 0, std::as_bytes(std::span(staging_)));
  return result;
}

plaintext encoder::to_plaintext(const memory::buffer& coefficients, unsigned words, unsigned level) {
  plaintext result;
  result.value = ring::make_poly(ctx_.ring(), ctx_.parameters().level(level).q,
                                 memory::object_class::plaintext, "plaintext");
  result.level = level;
  const backend::limb_view limbs = result.value.chain();
  const backend::encode_job residues{limbs, &coefficients, words};
  ctx_.device().encode_expand(ctx_.tables(), {&residues, 1});
  const backend::unary_job transformed{limbs, limbs};
  ctx_.device().ntt(ctx_.tables(), {&transformed, 1});
  return result;
}

plaintext encoder::encode(std::span<const std::complex<double>> values, unsigned level, double scale,
                          std::uint32_t slots) {
  const std::uint32_t used = check_slots("encode", values.size(), slots, ctx_.parameters());
  check_scale("encode", scale);
  const double limit_bits = std::min(two_word_bits, ctx_.parameters().level(level).log2_modulus - 1.0);
  const integers rounded =
      round(values, scale, used, limit_bits, memory::object_class::scratch, "encoder.integers");
  plaintext result = to_plaintext(rounded.data, rounded.words, level);
  result.scale = scale;
  result.slots = used;
  return result;
}

plaintext encoder::encode(std::span<const double> values, unsigned level, double scale, std::uint32_t slots) {
  const std::vector<std::complex<double>> complex_values(values.begin(), values.end());
  return encode(complex_values, level, scale, slots);
}

compact_plaintext encoder::encode_compact(std::span<const std::complex<double>> values, double scale,
                                          std::uint32_t slots) {
  const std::uint32_t used = check_slots("encode", values.size(), slots, ctx_.parameters());
  check_scale("encode", scale);
  integers rounded =
      round(values, scale, used, one_word_bits, memory::object_class::plaintext, "compact_plaintext");
  return {std::move(rounded.data), scale, used};
}

plaintext encoder::expand(const compact_plaintext& source, unsigned level) {
  const std::size_t n = ctx_.parameters().n();
  HALOCLINE_EXPECTS(source.coefficients.size() == n * sizeof(std::int64_t), invalid_argument,
                    "expand: a compact plaintext of ", source.coefficients.size(),
                    " bytes; these parameters need ", n * sizeof(std::int64_t));
  const double limit_bits = ctx_.parameters().level(level).log2_modulus - 1.0;
  if (limit_bits < one_word_bits) {
    std::vector<std::int64_t> host(n);
    ctx_.device().download(std::as_writable_bytes(std::span(host)), source.coefficients, 0);
    const auto [least, most] = std::minmax_element(host.begin(), host.end());
    const double largest = std::max(-static_cast<double>(*least), static_cast<double>(*most));
    if (largest >= std::exp2(limit_bits) * (1.0 - 0x1p-40)) refuse(largest, source.scale, limit_bits);
  }
  plaintext result = to_plaintext(source.coefficients, 1, level);
  result.scale = source.scale;
  result.slots = source.slots;
  return result;
}

std::vector<std::complex<double>> encoder::decode(const plaintext& source) {
  const params::parameters& parameters = ctx_.parameters();
  const backend::window q = parameters.level(source.level).q;
  const std::uint32_t slots = check_slots("decode", 0, source.slots, parameters);
  check_scale("decode", source.scale);
  HALOCLINE_EXPECTS(source.value.chain().primes == q, invalid_argument, "decode: the plaintext has ",
                    source.value.chain().primes.count, " primes; level ", source.level, " has ", q.count);
  work_.resize(2 * std::size_t{slots});
  const std::size_t stride = parameters.slots() / slots;
  lift_plan plan = plan_lift(parameters, q, std::log2(source.scale) + lift_headroom_bits);
  while (true) {
    const ring::poly coefficients =
        ring::make_poly(ctx_.ring(), plan.primes, memory::object_class::scratch, "encoder.decode");
    const backend::unary_job job{coefficients.chain(), source.value.chain().slice(plan.primes)};
    ctx_.device().intt(ctx_.tables(), {&job, 1});
    if (lift_coefficients(ctx_, coefficients.chain(), plan.guarded, stride, source.scale, work_)) break;
    plan = {q, false};
  }
  return to_slots(work_);
}

std::vector<std::complex<double>> encoder::to_slots(std::span<double> coefficients) {
  const std::uint32_t slots =
      check_slots("to_slots", 0, static_cast<std::uint32_t>(coefficients.size() / 2), ctx_.parameters());
  HALOCLINE_EXPECTS(coefficients.size() == 2 * std::size_t{slots}, invalid_argument,
                    "to_slots: ", coefficients.size(), " coefficients; expected twice the number of slots");
  std::vector<std::complex<double>> values(slots);
  if (!ctx_.runtime().is_ghost()) transform(slots).to_slots(coefficients, values);
  return values;
}

}  // namespace halocline::ckks

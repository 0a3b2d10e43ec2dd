// SPDX-License-Identifier: Apache-2.0
#include "evaluator_checks.hpp"

#include <array>
#include <cstdio>

namespace seal::halocline_detail {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument(message); }

/// All digits of a scale, with an exponent where that is shorter.
std::string text_of(double scale) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.17g", scale);
  return text.data();
}

}  // namespace

void check_valid(const Ciphertext& object, const SEALContext& context, const char* name) {
  if (!is_metadata_valid_for(object, context)) {
    refuse(std::string(name) + " is not valid for encryption parameters");
  }
}

void check_valid(const Plaintext& object, const SEALContext& context, const char* name) {
  if (!is_metadata_valid_for(object, context)) {
    refuse(std::string(name) + " is not valid for encryption parameters");
  }
}

void check_keys(const KSwitchKeys& keys, const SEALContext& context, const char* name) {
  if (!context.using_keyswitching()) {
    throw std::logic_error(
        "keyswitching is not supported by the context: the parameters have one prime only");
  }
  if (keys.parms_id() != context.key_parms_id()) {
    refuse(std::string(name) + " is not valid for encryption parameters");
  }
}

void check_pair(const Ciphertext& a, const Ciphertext& b, const SEALContext& context) {
  check_valid(a, context, "encrypted1");
  check_valid(b, context, "encrypted2");
  if (a.parms_id() != b.parms_id()) refuse("encrypted1 and encrypted2 parameter mismatch");
  if (a.is_ntt_form() != b.is_ntt_form()) refuse("NTT form mismatch");
}

void check_with_plain(const Ciphertext& a, const Plaintext& b, const SEALContext& context) {
  check_valid(a, context, "encrypted");
  check_valid(b, context, "plain");
  if (!b.is_ntt_form()) refuse("CKKS plain must be in NTT form");
  if (a.parms_id() != b.parms_id()) refuse("encrypted and plain parameter mismatch");
}

void check_ntt_form(const Ciphertext& object) {
  if (!object.is_ntt_form()) refuse("CKKS encrypted must be in NTT form");
}

void check_scales(double a, double b) {
  const double larger = std::max({1.0, std::abs(a), std::abs(b)});
  if (!(std::abs(a - b) < std::numeric_limits<double>::epsilon() * larger)) {
    refuse("scale mismatch: " + text_of(a) + " and " + text_of(b));
  }
}

void check_scale(const result_shape& shape, const SEALContext& context) {
  const int bits = context.get_context_data(shape.parms_id)->total_coeff_modulus_bit_count();
  const double scale = shape.scale;
  const bool fits = std::isnormal(scale) && scale > 0 && static_cast<int>(std::log2(scale)) < bits;
  if (!fits) {
    refuse("scale out of bounds: " + text_of(scale) + " for a modulus of " + std::to_string(bits) + " bits");
  }
}

std::shared_ptr<const SEALContext::ContextData> next_level(const Ciphertext& object,
                                                           const SEALContext& context) {
  check_valid(object, context, "encrypted");
  auto next = context.get_context_data(object.parms_id())->next_context_data();
  if (!next) refuse("end of modulus switching chain reached");
  return next;
}

result_shape shape_of(const Ciphertext& like) { return {like.parms_id(), like.scale(), like.is_ntt_form()}; }

std::string place_with(const Ciphertext& a, const KSwitchKeys& keys) {
  std::string first = place_of(a);
  return first.empty() ? keys_access::place(keys) : first;
}

}  // namespace seal::halocline_detail

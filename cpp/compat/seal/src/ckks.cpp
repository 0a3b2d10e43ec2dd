// SPDX-License-Identifier: Apache-2.0
#include "seal/ckks.h"

#include "engines.hpp"
#include "seal/valcheck.h"

namespace seal {
namespace {

using halocline_detail::core::encoder;

/// Parameters at which a plaintext is made.
std::shared_ptr<const SEALContext::ContextData> data_at(const SEALContext& context,
                                                        const parms_id_type& parms_id) {
  auto found = context.get_context_data(parms_id);
  if (!found) throw std::invalid_argument("parms_id is not valid for encryption parameters");
  return found;
}

void check_scale(double scale, const SEALContext::ContextData& at) {
  const bool fits = std::isnormal(scale) && scale > 0 &&
                    static_cast<int>(std::log2(scale)) + 1 < at.total_coeff_modulus_bit_count();
  if (!fits) throw std::invalid_argument("scale out of bounds");
}

/// Makes `destination` a plaintext of these parameters and returns its words, whose contents are free.
std::span<std::uint64_t> make_room(const SEALContext::ContextData& at, double scale, Plaintext& destination) {
  const std::size_t count = at.parms().poly_modulus_degree() * at.parms().coeff_modulus().size();
  DynArray<std::uint64_t>& words = halocline_detail::plaintext_access::words(destination);
  halocline_detail::plaintext_access::device(destination).drop();
  words.resize(count, false);
  halocline_detail::plaintext_access::set_shape(destination, at.parms_id(), count, scale);
  return {words.begin(), count};
}

/// Rounds coefficients to residues in NTT form.
void write(halocline_detail::engines& with, const SEALContext::ContextData& at,
           std::span<const double> coefficients, double scale, Plaintext& destination) {
  const std::span<std::uint64_t> words = make_room(at, scale, destination);
  halocline_detail::core::to_residues(coefficients, with.primes(at.parms().coeff_modulus().size()), words);
  const std::shared_ptr<halocline_detail::queue> on = with.mine("");
  halocline::ring::random_source none;
  const std::scoped_lock lock(on->mutex);
  halocline_detail::core::client(on->ctx, none).to_ntt(words);
}

/// Writes a polynomial that is constant, so that it is its own NTT form.
template <typename ResidueT>
void write_constant(const SEALContext::ContextData& at, double scale, Plaintext& destination,
                    ResidueT residue) {
  const std::span<std::uint64_t> words = make_room(at, scale, destination);
  const std::size_t n = at.parms().poly_modulus_degree();
  std::size_t begin = 0;
  for (const Modulus& modulus : at.parms().coeff_modulus()) {
    const std::uint64_t word = residue(modulus.value());
    std::fill_n(words.begin() + static_cast<std::ptrdiff_t>(begin), n, word);
    begin += n;
  }
}

void check_finite(const std::complex<double>& value) {
  if (!std::isfinite(value.real()) || !std::isfinite(value.imag())) {
    throw std::invalid_argument("values must be finite");
  }
}

void encode_values(const SEALContext& context, std::span<const std::complex<double>> values,
                   const parms_id_type& parms_id, double scale, Plaintext& destination,
                   const MemoryPoolHandle& pool) {
  const auto at = data_at(context, parms_id);
  if (values.size() > at->parms().poly_modulus_degree() / 2) {
    throw std::invalid_argument("values_size is too large: " + std::to_string(values.size()) +
                                " values for " + std::to_string(at->parms().poly_modulus_degree() / 2) +
                                " slots");
  }
  halocline_detail::check_pool(pool);
  check_scale(scale, *at);
  for (const std::complex<double>& value : values) check_finite(value);
  const std::shared_ptr<halocline_detail::engines> with = halocline_detail::engines::of(context);
  const std::vector<double> coefficients = with->encoder().to_coefficients(values, scale);
  double largest = 1.0;
  for (const double coefficient : coefficients) largest = std::max(largest, std::abs(coefficient));
  if (!(std::ceil(std::log2(largest)) + 1 < at->total_coeff_modulus_bit_count())) {
    throw std::invalid_argument("encoded values are too large");
  }
  write(*with, *at, coefficients, scale, destination);
}

}  // namespace

CKKSEncoder::CKKSEncoder(const SEALContext& context) : context_(context) {
  if (context_.parameters_set() && context_.key_context_data()->parms().scheme() != scheme_type::ckks) {
    throw std::invalid_argument("unsupported scheme: CKKSEncoder is for CKKS");
  }
  halocline_detail::check_parameters(context_);
  slots_ = context_.first_context_data()->parms().poly_modulus_degree() / 2;
}

void CKKSEncoder::encode_slots(const double* values, std::size_t count, parms_id_type parms_id, double scale,
                               Plaintext& destination, const MemoryPoolHandle& pool) const {
  const std::vector<std::complex<double>> slots(values, values + count);
  encode_values(context_, slots, parms_id, scale, destination, pool);
}

void CKKSEncoder::encode_slots(const std::complex<double>* values, std::size_t count, parms_id_type parms_id,
                               double scale, Plaintext& destination, const MemoryPoolHandle& pool) const {
  encode_values(context_, {values, count}, parms_id, scale, destination, pool);
}

void CKKSEncoder::encode(double value, parms_id_type parms_id, double scale, Plaintext& destination,
                         MemoryPoolHandle pool) const {
  const auto at = data_at(context_, parms_id);
  halocline_detail::check_pool(pool);
  check_scale(scale, *at);
  check_finite(value);
  const double whole = std::round(value * scale);
  const double bits = whole == 0.0 ? 0.0 : std::trunc(std::log2(std::abs(value * scale)));
  if (!(bits + 2 < at->total_coeff_modulus_bit_count())) {
    throw std::invalid_argument("encoded value is too large");
  }
  write_constant(*at, scale, destination, [whole](std::uint64_t prime) {
    std::uint64_t word = 0;
    halocline_detail::core::to_residues({&whole, 1}, {&prime, 1}, {&word, 1});
    return word;
  });
}

void CKKSEncoder::encode(std::complex<double> value, parms_id_type parms_id, double scale,
                         Plaintext& destination, MemoryPoolHandle pool) const {
  const std::vector<std::complex<double>> slots(slots_, value);
  encode_values(context_, slots, parms_id, scale, destination, pool);
}

void CKKSEncoder::encode(std::int64_t value, parms_id_type parms_id, Plaintext& destination) const {
  const auto at = data_at(context_, parms_id);
  const auto magnitude =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  if (static_cast<int>(std::bit_width(magnitude)) + 2 >= at->total_coeff_modulus_bit_count()) {
    throw std::invalid_argument("encoded value is too large");
  }
  write_constant(*at, 1.0, destination, [value, magnitude](std::uint64_t prime) {
    const std::uint64_t rest = magnitude % prime;
    return value < 0 && rest != 0 ? prime - rest : rest;
  });
}

std::vector<std::complex<double>> CKKSEncoder::decode_slots(const Plaintext& plain,
                                                            const MemoryPoolHandle& pool) const {
  if (!is_metadata_valid_for(plain, context_) || !plain.is_ntt_form()) {
    throw std::invalid_argument("plain is not valid for encryption parameters");
  }
  halocline_detail::check_pool(pool);
  const auto at = data_at(context_, plain.parms_id());
  const bool fits = std::isnormal(plain.scale()) && plain.scale() > 0 &&
                    static_cast<int>(std::log2(plain.scale())) < at->total_coeff_modulus_bit_count();
  if (!fits) throw std::invalid_argument("scale out of bounds");
  const DynArray<std::uint64_t>& from = plain.dyn_array();
  const std::size_t primes = at->parms().coeff_modulus().size();
  if (from.size() != primes * 2 * slots_) {
    throw std::invalid_argument("plain is not valid for encryption parameters");
  }
  std::vector<std::uint64_t> words(from.cbegin(), from.cend());
  const std::shared_ptr<halocline_detail::engines> with = halocline_detail::engines::of(context_);
  {
    const std::shared_ptr<halocline_detail::queue> on = with->mine("");
    halocline::ring::random_source none;
    const std::scoped_lock lock(on->mutex);
    halocline_detail::core::client(on->ctx, none).from_ntt(words);
  }
  const std::vector<double> coefficients =
      halocline_detail::core::from_residues(words, with->primes(primes), plain.scale());
  return with->encoder().to_slots(coefficients);
}

}  // namespace seal

// SPDX-License-Identifier: Apache-2.0
#include "seal/encryptionparams.h"

#include "files.hpp"
#include "halocline/seal_format/chain.hpp"

namespace seal {
namespace {

halocline_detail::format::parameters plain(const EncryptionParameters& from) {
  halocline_detail::format::parameters to;
  to.kind = static_cast<halocline_detail::format::scheme>(from.scheme());
  to.n = from.poly_modulus_degree();
  for (const Modulus& modulus : from.coeff_modulus()) to.primes.push_back(modulus.value());
  to.plain_modulus = from.plain_modulus().value();
  return to;
}

EncryptionParameters read(std::span<const std::byte> bytes) {
  return halocline_detail::translated([&] {
    const auto from = halocline_detail::format::read_parameters(bytes, halocline_detail::file_limits());
    EncryptionParameters to(static_cast<scheme_type>(from.kind));
    to.set_poly_modulus_degree(static_cast<std::size_t>(from.n));
    if (!from.primes.empty()) to.set_coeff_modulus({from.primes.begin(), from.primes.end()});
    to.set_plain_modulus(from.plain_modulus);
    return to;
  });
}

std::vector<std::byte> write(const EncryptionParameters& from, compr_mode_type compr_mode) {
  const auto options = halocline_detail::options_of(compr_mode);
  return halocline_detail::translated([&] { return halocline_detail::format::write(plain(from), options); });
}

}  // namespace

EncryptionParameters::EncryptionParameters(std::uint8_t scheme) : scheme_(static_cast<scheme_type>(scheme)) {
  if (scheme > static_cast<std::uint8_t>(scheme_type::bgv)) {
    throw std::invalid_argument("EncryptionParameters: scheme " + std::to_string(unsigned{scheme}) +
                                "; expected 0 (none), 1 (BFV), 2 (CKKS) or 3 (BGV)");
  }
  compute_parms_id();
}

void EncryptionParameters::set_poly_modulus_degree(std::size_t poly_modulus_degree) {
  if (scheme_ == scheme_type::none && poly_modulus_degree != 0) {
    throw std::logic_error("EncryptionParameters: poly_modulus_degree is not supported without a scheme");
  }
  poly_modulus_degree_ = poly_modulus_degree;
  compute_parms_id();
}

void EncryptionParameters::set_coeff_modulus(const std::vector<Modulus>& coeff_modulus) {
  if (scheme_ == scheme_type::none && !coeff_modulus.empty()) {
    throw std::logic_error("EncryptionParameters: coeff_modulus is not supported without a scheme");
  }
  const bool count_fits =
      coeff_modulus.size() >= SEAL_COEFF_MOD_COUNT_MIN && coeff_modulus.size() <= SEAL_COEFF_MOD_COUNT_MAX;
  if (scheme_ != scheme_type::none && !count_fits) {
    throw std::invalid_argument("EncryptionParameters: coeff_modulus of " +
                                std::to_string(coeff_modulus.size()) + " primes; expected 1 to 256");
  }
  coeff_modulus_ = coeff_modulus;
  compute_parms_id();
}

void EncryptionParameters::set_plain_modulus(const Modulus& plain_modulus) {
  const bool has_one = scheme_ == scheme_type::bfv || scheme_ == scheme_type::bgv;
  if (!has_one && !plain_modulus.is_zero()) {
    throw std::logic_error(
        "EncryptionParameters: plain_modulus is not supported for this scheme; only BFV and BGV "
        "have one");
  }
  plain_modulus_ = plain_modulus;
  compute_parms_id();
}

void EncryptionParameters::compute_parms_id() {
  parms_id_ = halocline_detail::format::parms_id(plain(*this));
}

std::streamoff EncryptionParameters::save_size(compr_mode_type compr_mode) const {
  return halocline_detail::bound(halocline_detail::header_bytes + 1 + 2 * 8 +
                                     halocline_detail::modulus_bytes * (coeff_modulus_.size() + 1),
                                 compr_mode);
}

std::streamoff EncryptionParameters::save(std::ostream& stream, compr_mode_type compr_mode) const {
  return halocline_detail::put(write(*this, compr_mode), stream);
}

std::streamoff EncryptionParameters::save(seal_byte* out, std::size_t size,
                                          compr_mode_type compr_mode) const {
  return halocline_detail::put(write(*this, compr_mode), out, size);
}

std::streamoff EncryptionParameters::load(std::istream& stream) {
  const std::vector<std::byte> bytes = halocline_detail::take_object(stream);
  *this = read(bytes);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff EncryptionParameters::load(const seal_byte* in, std::size_t size) {
  const std::span<const std::byte> bytes = halocline_detail::take_object(in, size);
  *this = read(bytes);
  return static_cast<std::streamoff>(bytes.size());
}

}  // namespace seal

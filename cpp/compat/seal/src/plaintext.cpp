// SPDX-License-Identifier: Apache-2.0
#include "seal/plaintext.h"

#include "convert.hpp"
#include "polynomial_text.hpp"
#include "seal/valcheck.h"

namespace seal {
namespace {

void refuse_ntt_form(const Plaintext& of, const char* what) {
  if (!of.is_ntt_form()) return;
  throw std::logic_error(std::string("Plaintext: cannot ") + what +
                         " in NTT form; set parms_id to parms_id_zero first");
}

std::vector<std::byte> write(const Plaintext& from, compr_mode_type compr_mode) {
  const auto options = halocline_detail::options_of(compr_mode);
  return halocline_detail::translated(
      [&] { return halocline_detail::format::write(halocline_detail::to_format(from), options); });
}

void read(Plaintext& to, const SEALContext& context, std::span<const std::byte> bytes, bool checks) {
  Plaintext made(to.pool());
  halocline_detail::expect_parameters(context);
  halocline_detail::translated([&] {
    halocline_detail::set(made,
                          halocline_detail::format::read_plaintext(bytes, halocline_detail::file_limits()));
  });
  if (checks && !is_valid_for(made, context)) {
    throw std::logic_error("plaintext data is invalid: it does not belong to the context's parameters");
  }
  to = std::move(made);
}

/// Whether two scales are equal up to rounding.
bool are_close(double a, double b) noexcept {
  const double largest = std::max({std::fabs(a), std::fabs(b), 1.0});
  return std::fabs(a - b) < std::numeric_limits<double>::epsilon() * largest;
}

}  // namespace

Plaintext::Plaintext(Plaintext&& source) noexcept
    : parms_id_(source.parms_id_),
      coeff_count_(source.coeff_count_),
      scale_(source.scale_),
      data_(std::move(source.data_)),
      device_(std::move(source.device_)) {
  source.release();
}

Plaintext& Plaintext::operator=(const Plaintext& assign) {
  if (this == &assign) return *this;
  device_.copy_with(assign.device_, [&](bool host_is_valid) {
    data_.clear();
    if (host_is_valid) data_ = assign.data_;
  });
  parms_id_ = assign.parms_id_;
  coeff_count_ = assign.coeff_count_;
  scale_ = assign.scale_;
  return *this;
}

Plaintext& Plaintext::operator=(Plaintext&& assign) noexcept {
  if (this == &assign) return *this;
  parms_id_ = assign.parms_id_;
  coeff_count_ = assign.coeff_count_;
  scale_ = assign.scale_;
  data_ = std::move(assign.data_);
  device_ = std::move(assign.device_);
  assign.release();
  return *this;
}

Plaintext& Plaintext::operator=(const std::string& hex_poly) {
  refuse_ntt_form(*this, "set coefficients");
  const std::vector<std::uint64_t> coefficients = halocline_detail::read_polynomial(hex_poly);
  resize(0);
  resize(coefficients.size());
  std::copy(coefficients.begin(), coefficients.end(), data_.begin());
  return *this;
}

Plaintext& Plaintext::operator=(pt_coeff_type const_coeff) {
  refuse_ntt_form(*this, "set coefficients");
  resize(1);
  data_[0] = const_coeff;
  return *this;
}

void Plaintext::reserve(std::size_t capacity) {
  refuse_ntt_form(*this, "reserve memory");
  own().reserve(capacity);
  coeff_count_ = data_.size();
}

void Plaintext::shrink_to_fit() { own().shrink_to_fit(); }

void Plaintext::release() noexcept {
  device_.drop();
  parms_id_ = parms_id_zero;
  coeff_count_ = 0;
  scale_ = 1.0;
  data_.release();
}

void Plaintext::resize(std::size_t coeff_count) {
  refuse_ntt_form(*this, "change the number of coefficients");
  own().resize(coeff_count);
  coeff_count_ = coeff_count;
}

void Plaintext::set_zero(std::size_t start_coeff, std::size_t length) {
  if (length == 0) return;
  if (start_coeff >= coeff_count_ || length > coeff_count_ - start_coeff) {
    throw std::out_of_range("Plaintext: coefficients " + std::to_string(start_coeff) + " and the next, " +
                            std::to_string(length) + " in all, of " + std::to_string(coeff_count_));
  }
  std::fill_n(data() + start_coeff, length, pt_coeff_type{0});
}

void Plaintext::set_zero(std::size_t start_coeff) {
  if (start_coeff >= coeff_count_) {
    throw std::out_of_range("Plaintext: coefficient " + std::to_string(start_coeff) + " of " +
                            std::to_string(coeff_count_));
  }
  set_zero(start_coeff, coeff_count_ - start_coeff);
}

void Plaintext::set_zero() { std::fill_n(data(), coeff_count_, pt_coeff_type{0}); }

Plaintext::pt_coeff_type* Plaintext::data(std::size_t coeff_index) {
  return const_cast<pt_coeff_type*>((static_cast<void>(own()), std::as_const(*this).data(coeff_index)));
}

const Plaintext::pt_coeff_type* Plaintext::data(std::size_t coeff_index) const {
  if (coeff_count_ == 0) return nullptr;
  return &host().at(coeff_index);
}

bool Plaintext::operator==(const Plaintext& compare) const {
  const std::size_t count = significant_coeff_count();
  return count == compare.significant_coeff_count() && parms_id_ == compare.parms_id_ &&
         std::equal(data(), data() + count, compare.data()) && are_close(scale_, compare.scale_);
}

bool Plaintext::is_zero() const { return significant_coeff_count() == 0; }

std::size_t Plaintext::significant_coeff_count() const {
  const DynArray<pt_coeff_type>& words = host();
  std::size_t count = words.size();
  while (count > 0 && words.data()[count - 1] == 0) --count;
  return count;
}

std::size_t Plaintext::nonzero_coeff_count() const {
  const DynArray<pt_coeff_type>& words = host();
  return words.size() - static_cast<std::size_t>(std::count(words.begin(), words.end(), pt_coeff_type{0}));
}

std::string Plaintext::to_string() const {
  if (is_ntt_form())
    throw std::invalid_argument("Plaintext: cannot convert a plaintext in NTT form to a string");
  return halocline_detail::write_polynomial({data(), coeff_count_});
}

std::streamoff Plaintext::save_size(compr_mode_type compr_mode) const {
  return halocline_detail::bound(halocline_detail::file_bytes(*this), compr_mode);
}

std::streamoff Plaintext::save(std::ostream& stream, compr_mode_type compr_mode) const {
  return halocline_detail::put(write(*this, compr_mode), stream);
}

std::streamoff Plaintext::save(seal_byte* out, std::size_t size, compr_mode_type compr_mode) const {
  return halocline_detail::put(write(*this, compr_mode), out, size);
}

std::streamoff Plaintext::unsafe_load(const SEALContext& context, std::istream& stream) {
  const std::vector<std::byte> bytes = halocline_detail::take_object(stream);
  read(*this, context, bytes, false);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff Plaintext::unsafe_load(const SEALContext& context, const seal_byte* in, std::size_t size) {
  const std::span<const std::byte> bytes = halocline_detail::take_object(in, size);
  read(*this, context, bytes, false);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff Plaintext::load(const SEALContext& context, std::istream& stream) {
  const std::vector<std::byte> bytes = halocline_detail::take_object(stream);
  read(*this, context, bytes, true);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff Plaintext::load(const SEALContext& context, const seal_byte* in, std::size_t size) {
  const std::span<const std::byte> bytes = halocline_detail::take_object(in, size);
  read(*this, context, bytes, true);
  return static_cast<std::streamoff>(bytes.size());
}

}  // namespace seal

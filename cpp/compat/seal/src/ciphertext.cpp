// SPDX-License-Identifier: Apache-2.0
#include "seal/ciphertext.h"

#include "convert.hpp"
#include "seal/valcheck.h"

namespace seal {
namespace {

std::shared_ptr<const SEALContext::ContextData> data_of(const SEALContext& context,
                                                        const parms_id_type& parms_id) {
  halocline_detail::expect_parameters(context);
  auto found = context.get_context_data(parms_id);
  if (found == nullptr) {
    throw std::invalid_argument(
        "Ciphertext: parms_id is not valid for the encryption parameters of the context");
  }
  return found;
}

void check_count(std::size_t count, const char* what) {
  if (count >= SEAL_CIPHERTEXT_SIZE_MIN && count <= SEAL_CIPHERTEXT_SIZE_MAX) return;
  throw std::invalid_argument(std::string("Ciphertext: ") + what + " " + std::to_string(count) +
                              "; expected 2 to 16 polynomials");
}

std::vector<std::byte> write(const Ciphertext& from, compr_mode_type compr_mode) {
  const auto options = halocline_detail::options_of(compr_mode);
  return halocline_detail::translated(
      [&] { return halocline_detail::format::write(halocline_detail::to_format(from), options); });
}

void read(Ciphertext& to, const SEALContext& context, std::span<const std::byte> bytes, bool checks) {
  Ciphertext made(to.pool());
  halocline_detail::expect_parameters(context);
  halocline_detail::translated([&] {
    halocline_detail::set(
        made, halocline_detail::format::read_ciphertext(bytes, halocline_detail::file_limits()), context);
  });
  if (checks && !is_valid_for(made, context)) {
    throw std::logic_error("ciphertext data is invalid: it does not belong to the context's parameters");
  }
  to = std::move(made);
}

}  // namespace

Ciphertext::Ciphertext(Ciphertext&& source) noexcept
    : parms_id_(source.parms_id_),
      is_ntt_form_(source.is_ntt_form_),
      size_(source.size_),
      poly_modulus_degree_(source.poly_modulus_degree_),
      coeff_modulus_size_(source.coeff_modulus_size_),
      scale_(source.scale_),
      correction_factor_(source.correction_factor_),
      data_(std::move(source.data_)),
      device_(std::move(source.device_)),
      seed_(std::move(source.seed_)) {
  source.release();
}

Ciphertext& Ciphertext::operator=(const Ciphertext& assign) {
  if (this == &assign) return *this;
  device_.copy_with(assign.device_, [&](bool host_is_valid) {
    data_.clear();
    if (host_is_valid) data_ = assign.data_;
  });
  parms_id_ = assign.parms_id_;
  is_ntt_form_ = assign.is_ntt_form_;
  size_ = assign.size_;
  poly_modulus_degree_ = assign.poly_modulus_degree_;
  coeff_modulus_size_ = assign.coeff_modulus_size_;
  scale_ = assign.scale_;
  correction_factor_ = assign.correction_factor_;
  seed_ = assign.seed_;
  return *this;
}

Ciphertext& Ciphertext::operator=(Ciphertext&& assign) noexcept {
  if (this == &assign) return *this;
  parms_id_ = assign.parms_id_;
  is_ntt_form_ = assign.is_ntt_form_;
  size_ = assign.size_;
  poly_modulus_degree_ = assign.poly_modulus_degree_;
  coeff_modulus_size_ = assign.coeff_modulus_size_;
  scale_ = assign.scale_;
  correction_factor_ = assign.correction_factor_;
  data_ = std::move(assign.data_);
  device_ = std::move(assign.device_);
  seed_ = std::move(assign.seed_);
  assign.release();
  return *this;
}

void Ciphertext::reserve(const SEALContext& context, parms_id_type parms_id, std::size_t size_capacity) {
  const auto data = data_of(context, parms_id);
  set_room(size_capacity, data->parms().poly_modulus_degree(), data->parms().coeff_modulus().size());
  parms_id_ = parms_id;
}

void Ciphertext::reserve(std::size_t size_capacity) {
  set_room(size_capacity, poly_modulus_degree_, coeff_modulus_size_);
}

void Ciphertext::resize(const SEALContext& context, parms_id_type parms_id, std::size_t size) {
  const auto data = data_of(context, parms_id);
  set_count(size, data->parms().poly_modulus_degree(), data->parms().coeff_modulus().size());
  parms_id_ = parms_id;
}

void Ciphertext::resize(std::size_t size) { set_count(size, poly_modulus_degree_, coeff_modulus_size_); }

void Ciphertext::set_room(std::size_t capacity, std::size_t n, std::size_t primes) {
  check_count(capacity, "capacity");
  const std::size_t size = std::min(size_, capacity);
  own().reserve(capacity * n * primes);
  data_.resize(size * n * primes);
  size_ = size;
  poly_modulus_degree_ = n;
  coeff_modulus_size_ = primes;
}

void Ciphertext::set_count(std::size_t size, std::size_t n, std::size_t primes) {
  if (size != 0) check_count(size, "size");
  own().resize(size * n * primes);
  size_ = size;
  poly_modulus_degree_ = n;
  coeff_modulus_size_ = primes;
}

void Ciphertext::release() noexcept {
  device_.drop();
  seed_.reset();
  parms_id_ = parms_id_zero;
  is_ntt_form_ = false;
  size_ = poly_modulus_degree_ = coeff_modulus_size_ = 0;
  scale_ = 1.0;
  correction_factor_ = 1;
  data_.release();
}

Ciphertext::ct_coeff_type* Ciphertext::data(std::size_t poly_index) {
  static_cast<void>(own());
  return const_cast<ct_coeff_type*>(std::as_const(*this).data(poly_index));
}

const Ciphertext::ct_coeff_type* Ciphertext::data(std::size_t poly_index) const {
  const std::size_t polynomial = poly_modulus_degree_ * coeff_modulus_size_;
  if (polynomial == 0) return nullptr;
  if (poly_index >= size_) {
    throw std::out_of_range("Ciphertext: polynomial " + std::to_string(poly_index) + " of " +
                            std::to_string(size_));
  }
  return host().data() + poly_index * polynomial;
}

std::size_t Ciphertext::size_capacity() const noexcept {
  const std::size_t polynomial = poly_modulus_degree_ * coeff_modulus_size_;
  if (polynomial == 0) return 0;
  return std::max(size_, data_.capacity() / polynomial);  // the words of a result may be elsewhere yet
}

bool Ciphertext::is_transparent() const {
  if (size_ < SEAL_CIPHERTEXT_SIZE_MIN) return true;
  const DynArray<ct_coeff_type>& words = host();
  return std::all_of(words.begin() + words.size() / size_, words.end(),
                     [](ct_coeff_type word) { return word == 0; });
}

std::streamoff Ciphertext::save_size(compr_mode_type compr_mode) const {
  return halocline_detail::bound(halocline_detail::file_bytes(*this), compr_mode);
}

std::streamoff Ciphertext::save(std::ostream& stream, compr_mode_type compr_mode) const {
  return halocline_detail::put(write(*this, compr_mode), stream);
}

std::streamoff Ciphertext::save(seal_byte* out, std::size_t size, compr_mode_type compr_mode) const {
  return halocline_detail::put(write(*this, compr_mode), out, size);
}

std::streamoff Ciphertext::unsafe_load(const SEALContext& context, std::istream& stream) {
  const std::vector<std::byte> bytes = halocline_detail::take_object(stream);
  read(*this, context, bytes, false);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff Ciphertext::unsafe_load(const SEALContext& context, const seal_byte* in, std::size_t size) {
  const std::span<const std::byte> bytes = halocline_detail::take_object(in, size);
  read(*this, context, bytes, false);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff Ciphertext::load(const SEALContext& context, std::istream& stream) {
  const std::vector<std::byte> bytes = halocline_detail::take_object(stream);
  read(*this, context, bytes, true);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff Ciphertext::load(const SEALContext& context, const seal_byte* in, std::size_t size) {
  const std::span<const std::byte> bytes = halocline_detail::take_object(in, size);
  read(*this, context, bytes, true);
  return static_cast<std::streamoff>(bytes.size());
}

}  // namespace seal

// SPDX-License-Identifier: Apache-2.0
#include <sodium.h>

#include "convert.hpp"
#include "seal/kswitchkeys.h"
#include "seal/publickey.h"
#include "seal/secretkey.h"
#include "seal/valcheck.h"

namespace seal {
namespace {

/// Zeroes bytes and words of a secret when it goes.
template <typename ContainerT>
class wiped {
 public:
  explicit wiped(ContainerT contents) : contents_(std::move(contents)) {}
  wiped(const wiped&) = delete;
  wiped& operator=(const wiped&) = delete;
  ~wiped() { sodium_memzero(contents_.data(), contents_.size() * sizeof(contents_[0])); }

  [[nodiscard]] const ContainerT& get() const noexcept { return contents_; }

 private:
  ContainerT contents_;
};

wiped<std::vector<std::byte>> write(const SecretKey& from, compr_mode_type compr_mode) {
  const auto options = halocline_detail::options_of(compr_mode);
  return wiped(halocline_detail::translated([&] {
    halocline_detail::format::plaintext plain = halocline_detail::to_format(from.data());
    const wiped after(std::span(plain.data));
    return halocline_detail::format::write(plain, options);
  }));
}

void read(SecretKey& to, const SEALContext& context, std::span<const std::byte> bytes, bool checks) {
  SecretKey made;
  halocline_detail::expect_parameters(context);
  halocline_detail::translated([&] {
    halocline_detail::format::plaintext plain =
        halocline_detail::format::read_secret_key(bytes, halocline_detail::file_limits());
    const wiped after(std::span(plain.data));
    halocline_detail::set(made.data(), plain);
  });
  if (checks && !is_valid_for(made, context)) {
    throw std::logic_error("secret key data is invalid: it does not belong to the context's parameters");
  }
  to = std::move(made);
}

std::vector<std::byte> write(const KSwitchKeys& from, compr_mode_type compr_mode) {
  const auto options = halocline_detail::options_of(compr_mode);
  return halocline_detail::translated([&] {
    halocline_detail::format::switch_keys to;
    to.id = from.parms_id();
    to.keys.resize(from.data().size());
    for (std::size_t i = 0; i < to.keys.size(); ++i) {
      for (const PublicKey& digit : from.data()[i])
        to.keys[i].push_back(halocline_detail::to_format(digit.data()));
    }
    return halocline_detail::format::write(to, options);
  });
}

void fill(KSwitchKeys& to, halocline_detail::format::switch_keys from, const SEALContext& context) {
  to.parms_id() = from.id;
  to.data().resize(from.keys.size());
  for (std::size_t i = 0; i < from.keys.size(); ++i) {
    to.data()[i].reserve(from.keys[i].size());
    for (halocline_detail::format::ciphertext& digit : from.keys[i]) {
      PublicKey& made = to.data()[i].emplace_back();
      halocline_detail::set(made.data(), digit, context);
      digit = {};  // its memory, before the next one is made
    }
  }
}

void read(KSwitchKeys& to, const SEALContext& context, std::span<const std::byte> bytes, bool checks) {
  KSwitchKeys made(to.pool());
  halocline_detail::expect_parameters(context);
  halocline_detail::translated([&] {
    fill(made, halocline_detail::format::read_switch_keys(bytes, halocline_detail::file_limits()), context);
  });
  if (checks && !is_valid_for(made, context)) {
    throw std::logic_error("key data is invalid: it does not belong to the context's parameters");
  }
  to = std::move(made);
}

}  // namespace

std::streamoff PublicKey::load(const SEALContext& context, std::istream& stream) {
  PublicKey made;
  const std::streamoff taken = made.unsafe_load(context, stream);
  if (!is_valid_for(made, context)) {
    throw std::logic_error("public key data is invalid: it does not belong to the context's parameters");
  }
  *this = std::move(made);
  return taken;
}

std::streamoff PublicKey::load(const SEALContext& context, const seal_byte* in, std::size_t size) {
  PublicKey made;
  const std::streamoff taken = made.unsafe_load(context, in, size);
  if (!is_valid_for(made, context)) {
    throw std::logic_error("public key data is invalid: it does not belong to the context's parameters");
  }
  *this = std::move(made);
  return taken;
}

std::streamoff SecretKey::save(std::ostream& stream, compr_mode_type compr_mode) const {
  return halocline_detail::put(write(*this, compr_mode).get(), stream);
}

std::streamoff SecretKey::save(seal_byte* out, std::size_t size, compr_mode_type compr_mode) const {
  return halocline_detail::put(write(*this, compr_mode).get(), out, size);
}

std::streamoff SecretKey::unsafe_load(const SEALContext& context, std::istream& stream) {
  const wiped bytes(halocline_detail::take_object(stream));
  read(*this, context, bytes.get(), false);
  return static_cast<std::streamoff>(bytes.get().size());
}

std::streamoff SecretKey::unsafe_load(const SEALContext& context, const seal_byte* in, std::size_t size) {
  const std::span<const std::byte> bytes = halocline_detail::take_object(in, size);
  read(*this, context, bytes, false);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff SecretKey::load(const SEALContext& context, std::istream& stream) {
  const wiped bytes(halocline_detail::take_object(stream));
  read(*this, context, bytes.get(), true);
  return static_cast<std::streamoff>(bytes.get().size());
}

std::streamoff SecretKey::load(const SEALContext& context, const seal_byte* in, std::size_t size) {
  const std::span<const std::byte> bytes = halocline_detail::take_object(in, size);
  read(*this, context, bytes, true);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff KSwitchKeys::save_size(compr_mode_type compr_mode) const {
  std::size_t bytes = halocline_detail::header_bytes + 32 + 8;
  for (const std::vector<PublicKey>& key : keys_) {
    bytes += 8;
    for (const PublicKey& digit : key) bytes += halocline_detail::file_bytes(digit.data());
  }
  return halocline_detail::bound(bytes, compr_mode);
}

std::streamoff KSwitchKeys::save(std::ostream& stream, compr_mode_type compr_mode) const {
  return halocline_detail::put(write(*this, compr_mode), stream);
}

std::streamoff KSwitchKeys::save(seal_byte* out, std::size_t size, compr_mode_type compr_mode) const {
  return halocline_detail::put(write(*this, compr_mode), out, size);
}

std::streamoff KSwitchKeys::unsafe_load(const SEALContext& context, std::istream& stream) {
  const std::vector<std::byte> bytes = halocline_detail::take_object(stream);
  read(*this, context, bytes, false);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff KSwitchKeys::unsafe_load(const SEALContext& context, const seal_byte* in, std::size_t size) {
  const std::span<const std::byte> bytes = halocline_detail::take_object(in, size);
  read(*this, context, bytes, false);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff KSwitchKeys::load(const SEALContext& context, std::istream& stream) {
  const std::vector<std::byte> bytes = halocline_detail::take_object(stream);
  read(*this, context, bytes, true);
  return static_cast<std::streamoff>(bytes.size());
}

std::streamoff KSwitchKeys::load(const SEALContext& context, const seal_byte* in, std::size_t size) {
  const std::span<const std::byte> bytes = halocline_detail::take_object(in, size);
  read(*this, context, bytes, true);
  return static_cast<std::streamoff>(bytes.size());
}

}  // namespace seal

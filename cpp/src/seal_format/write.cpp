// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal_format/write.hpp"

#include <cstring>
#include <span>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/seal_format/packing.hpp"
#include "seal_format/fields.hpp"

namespace halocline::seal_format {
namespace {

/// Bytes of an object, front to back.
class sink {
 public:
  explicit sink(unsigned minor) : minor_(minor) {}

  template <typename ValueT>
  void put(ValueT value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  /// Writes an object: its header, and what `body` puts behind it.
  template <typename BodyT>
  void object(BodyT body) {
    const std::size_t begin = out_.size();
    put_header(compression::none, 0);
    body();
    const std::uint64_t size = out_.size() - begin;
    std::memcpy(out_.data() + begin + 8, &size, sizeof size);
  }
  void put_header(compression how, std::uint64_t size) {
    put(file_magic);
    put(static_cast<std::uint8_t>(header_bytes));
    put(static_cast<std::uint8_t>(file_major));
    put(static_cast<std::uint8_t>(minor_));
    put(static_cast<std::uint8_t>(how));
    put(std::uint16_t{0});
    put(size);
  }
  void reserve(std::size_t bytes) { out_.reserve(bytes); }
  [[nodiscard]] std::vector<std::byte> finish() { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
  unsigned minor_;
};

std::vector<std::byte> pack_and_drop(std::vector<std::byte> bytes, compression how, bool secret) {
  wiped_at_end guard(secret);
  guard.set(bytes);
  return pack(bytes, how);
}

/// The object whose members `body` writes, packed as wanted. `bytes` is about what they take.
/// @param secret whether to zero them once they are packed
template <typename BodyT>
std::vector<std::byte> write_object(const write_options& options, std::size_t bytes, bool secret,
                                    BodyT body) {
  HALOCLINE_EXPECTS(options.minor <= newest_minor, invalid_argument, "SEAL file: version 4.", options.minor,
                    "; expected 4.0 to 4.", newest_minor);
  sink plain(options.minor);
  plain.reserve(bytes + 4096);
  if (options.how == compression::none) {
    plain.object([&] { body(plain); });
    return plain.finish();
  }
  body(plain);
  const std::vector<std::byte> packed = pack_and_drop(plain.finish(), options.how, secret);
  sink whole(options.minor);
  whole.reserve(packed.size() + header_bytes);
  whole.put_header(options.how, packed.size() + header_bytes);
  whole.put_bytes(packed);
  return whole.finish();
}

void put_id(sink& to, const id_words& id) {
  for (const std::uint64_t word : id) to.put(word);
}

void put_array(sink& to, const std::vector<std::uint64_t>& words) {
  to.object([&] {
    to.put(std::uint64_t{words.size()});
    to.put_bytes(std::as_bytes(std::span(words)));
  });
}

void put_ciphertext(sink& to, const ciphertext& object) {
  const std::uint64_t polynomials = object.second ? 1 : object.size;
  HALOCLINE_EXPECTS(
      object.data.size() == polynomials * object.n * object.primes && (!object.second || object.size == 2),
      invalid_argument, "SEAL ciphertext: ", object.data.size(), " words for ", polynomials,
      " polynomials of ", object.n * object.primes);
  put_id(to, object.id);
  to.put(static_cast<std::uint8_t>(object.is_ntt));
  to.put(object.size);
  to.put(object.n);
  to.put(object.primes);
  to.put(object.scale);
  to.put(object.correction_factor);
  put_array(to, object.data);
  if (!object.second) return;
  to.object([&] {
    to.put(static_cast<std::uint8_t>(object.second->kind));
    to.put_bytes(std::as_bytes(std::span(object.second->bytes)));
  });
}

void put_plaintext(sink& to, const plaintext& object) {
  HALOCLINE_EXPECTS(object.data.size() == object.coefficients, invalid_argument,
                    "SEAL plaintext: ", object.data.size(), " words for ", object.coefficients,
                    " coefficients");
  put_id(to, object.id);
  to.put(object.coefficients);
  to.put(object.scale);
  put_array(to, object.data);
}

}  // namespace

std::vector<std::byte> write(const parameters& object, const write_options& options) {
  return write_object(options, 64 * object.primes.size(), false, [&](sink& to) {
    to.put(static_cast<std::uint8_t>(object.kind));
    to.put(object.n);
    to.put(std::uint64_t{object.primes.size()});
    for (const std::uint64_t prime : object.primes) to.object([&] { to.put(prime); });
    to.object([&] { to.put(object.plain_modulus); });
  });
}

std::vector<std::byte> write(const ciphertext& object, const write_options& options) {
  return write_object(options, 8 * object.data.size(), false, [&](sink& to) { put_ciphertext(to, object); });
}

std::vector<std::byte> write(const plaintext& object, const write_options& options) {
  return write_object(options, 8 * object.data.size(), true, [&](sink& to) { put_plaintext(to, object); });
}

std::vector<std::byte> write(const switch_keys& object, const write_options& options) {
  std::size_t bytes = 8 * object.keys.size();
  for (const auto& digits : object.keys) {
    for (const ciphertext& digit : digits) bytes += 256 + 8 * digit.data.size();
  }
  return write_object(options, bytes, false, [&](sink& to) {
    put_id(to, object.id);
    to.put(std::uint64_t{object.keys.size()});
    for (const auto& digits : object.keys) {
      to.put(std::uint64_t{digits.size()});
      for (const ciphertext& digit : digits) to.object([&] { put_ciphertext(to, digit); });
    }
  });
}

}  // namespace halocline::seal_format

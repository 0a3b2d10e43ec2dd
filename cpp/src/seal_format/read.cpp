// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal_format/read.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/seal_format/packing.hpp"
#include "seal_format/fields.hpp"

namespace halocline::seal_format {
namespace {

constexpr std::uint64_t seed_object_bytes = 1 + 64;

/// Calls `body` with the members of the object, unpacked.
template <typename BodyT>
auto read_object(std::span<const std::byte> bytes, const read_limits& limits, const char* what, bool secret,
                 BodyT body) {
  const object_header head = peek(bytes);
  HALOCLINE_EXPECTS(head.bytes == bytes.size(), corrupt_data, what, ": its header says ", head.bytes,
                    " bytes, there are ", bytes.size());
  const std::span<const std::byte> packed = bytes.subspan(header_bytes);
  HALOCLINE_EXPECTS(packed.size() <= limits.bytes, corrupt_data, what, ": ", packed.size(),
                    " bytes; expected at most ", limits.bytes);
  growing_bytes unpacked;
  wiped_at_end guard(secret);
  if (head.compression != 0) {
    const std::uint64_t most =
        std::min(limits.bytes, limits.unpacked_base + limits.unpacked_factor * packed.size());
    unpacked = unpack(packed, static_cast<compression>(head.compression), most, secret);
    guard.set(unpacked.all());
  }
  fields members(head.compression != 0 ? unpacked.all() : packed, head.minor, what);
  auto made = body(members);
  members.expect_end();
  return made;
}

bool is_degree(std::uint64_t n) { return std::has_single_bit(n) && n >= 2 && n <= max_degree; }

id_words get_id(fields& from) {
  id_words id;
  for (std::uint64_t& word : id) word = from.get<std::uint64_t>();
  return id;
}

std::vector<std::uint64_t> get_array(fields& from) {
  fields members = from.nested();
  const auto count = members.get<std::uint64_t>();
  std::vector<std::uint64_t> words = members.words(count);
  members.expect_end();
  return words;
}

seed get_seed(fields& from) {
  fields members = from.nested();
  HALOCLINE_EXPECTS(members.left() == seed_object_bytes, corrupt_data, from.what(), ": a seed of ",
                    members.left(), " bytes; expected ", seed_object_bytes);
  const auto kind = members.get<std::uint8_t>();
  HALOCLINE_EXPECTS(kind == 1 || kind == 2, corrupt_data, from.what(), ": generator ", unsigned{kind},
                    " of a seed; expected 1 (BLAKE2Xb) or 2 (SHAKE256)");
  seed made{static_cast<seed_kind>(kind), {}};
  std::memcpy(made.bytes.data(), members.take(made.bytes.size()).data(), made.bytes.size());
  return made;
}

ciphertext get_ciphertext(fields& from, bool allow_empty) {
  ciphertext made;
  made.id = get_id(from);
  const auto form = from.get<std::uint8_t>();
  HALOCLINE_EXPECTS(form <= 1, corrupt_data, from.what(), ": form ", unsigned{form}, "; expected 0 or 1");
  made.is_ntt = form == 1;
  made.size = from.get<std::uint64_t>();
  made.n = from.get<std::uint64_t>();
  made.primes = from.get<std::uint64_t>();
  made.scale = from.get<double>();
  made.correction_factor = from.get<std::uint64_t>();
  const bool size_fits =
      made.size == 0 || (made.size >= min_ciphertext_size && made.size <= max_ciphertext_size);
  const bool is_empty = allow_empty && made.size == 0 && made.n == 0 && made.primes == 0;
  const bool ring_fits = is_degree(made.n) && made.primes >= 1 && made.primes <= max_primes;
  HALOCLINE_EXPECTS(is_empty || (size_fits && ring_fits), corrupt_data, from.what(), ": ", made.size,
                    " polynomials of ", made.n, " coefficients modulo ", made.primes,
                    " primes; expected 0 or ", min_ciphertext_size, " to ", max_ciphertext_size,
                    ", a power of two up to ", max_degree, ", and 1 to ", max_primes);
  made.data = get_array(from);
  const std::uint64_t polynomial = made.n * made.primes;
  const bool seeded = made.size == 2 && made.data.size() == polynomial;
  HALOCLINE_EXPECTS(seeded || made.data.size() == made.size * polynomial, corrupt_data, from.what(), ": ",
                    made.data.size(), " words for ", made.size, " polynomials of ", polynomial);
  if (seeded) made.second = get_seed(from);
  return made;
}

plaintext get_plaintext(fields& from) {
  plaintext made;
  made.id = get_id(from);
  made.coefficients = from.get<std::uint64_t>();
  made.scale = from.get<double>();
  made.data = get_array(from);
  HALOCLINE_EXPECTS(made.data.size() == made.coefficients, corrupt_data, from.what(), ": ", made.data.size(),
                    " words for ", made.coefficients, " coefficients");
  return made;
}

std::uint64_t get_modulus(fields& from) {
  fields members = from.nested();
  const auto value = members.get<std::uint64_t>();
  members.expect_end();
  HALOCLINE_EXPECTS(value >> max_prime_bits == 0, corrupt_data, from.what(), ": modulus ", value,
                    "; expected at most ", max_prime_bits, " bits");
  return value;
}

parameters get_parameters(fields& from, bool allow_empty) {
  parameters made;
  const auto kind = from.get<std::uint8_t>();
  HALOCLINE_EXPECTS(kind <= 3, corrupt_data, from.what(), ": scheme ", unsigned{kind},
                    "; expected 0 to 3 (none, BFV, CKKS, BGV)");
  made.kind = static_cast<scheme>(kind);
  made.n = from.get<std::uint64_t>();
  const auto count = from.get<std::uint64_t>();
  const bool is_complete = is_degree(made.n) && count >= 1;
  const bool is_empty = allow_empty && (made.n == 0 || is_degree(made.n));
  HALOCLINE_EXPECTS((is_complete || is_empty) && count <= max_primes, corrupt_data, from.what(),
                    ": ring degree ", made.n, " and ", count, " primes; expected a power of two up to ",
                    max_degree, ", and 1 to ", max_primes);
  for (std::uint64_t i = 0; i < count; ++i) made.primes.push_back(get_modulus(from));
  made.plain_modulus = get_modulus(from);
  return made;
}

/// Bytes of a digit in a file are at least these and its words, so no file makes room for many that it lacks.
constexpr std::size_t least_digit_bytes = header_bytes + 32 + 1 + 5 * 8 + header_bytes + 8;

/// A digit of a key: two polynomials, or one and a seed. Its ring has room for all the keys and digits that
/// the file tells, so the many digits of a large file are large themselves.
ciphertext get_digit(fields& from, std::uint64_t entries, std::uint64_t count) {
  fields members = from.nested();
  ciphertext made = get_ciphertext(members, false);
  members.expect_end();
  HALOCLINE_EXPECTS(made.size == 2, corrupt_data, from.what(), ": a digit of ", made.size,
                    " polynomials; expected 2");
  HALOCLINE_EXPECTS(entries <= std::max(made.n, max_ciphertext_size) && count <= made.primes, corrupt_data,
                    from.what(), ": ", entries, " entries and one of ", count, " digits of ring degree ",
                    made.n, " with ", made.primes, " primes; expected at most ",
                    std::max(made.n, max_ciphertext_size), " and ", made.primes);
  return made;
}

switch_keys get_switch_keys(fields& from) {
  switch_keys made;
  made.id = get_id(from);
  const auto entries = from.get<std::uint64_t>();
  HALOCLINE_EXPECTS(entries <= max_degree && entries <= from.left() / sizeof(std::uint64_t), corrupt_data,
                    from.what(), ": ", entries, " entries with ", from.left(),
                    " bytes left; expected at most ", max_degree, ", of 8 bytes at least");
  made.keys.resize(static_cast<std::size_t>(entries));
  for (std::vector<ciphertext>& digits : made.keys) {
    const auto count = from.get<std::uint64_t>();
    HALOCLINE_EXPECTS(count <= max_primes, corrupt_data, from.what(), ": an entry of ", count,
                      " digits; expected at most ", max_primes);
    digits.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(count, from.left() / least_digit_bytes)));
    for (std::uint64_t i = 0; i < count; ++i) digits.push_back(get_digit(from, entries, count));
  }
  return made;
}

}  // namespace

object_header peek(std::span<const std::byte> bytes) {
  HALOCLINE_EXPECTS(bytes.size() >= header_bytes, corrupt_data, "SEAL object: ", bytes.size(),
                    " bytes; expected a header of ", header_bytes);
  std::uint16_t magic = 0, reserved = 0;
  std::uint8_t small[4];  // size of the header, major, minor, compression
  object_header head;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  std::memcpy(small, bytes.data() + 2, sizeof small);
  std::memcpy(&reserved, bytes.data() + 6, sizeof reserved);
  std::memcpy(&head.bytes, bytes.data() + 8, sizeof head.bytes);
  HALOCLINE_EXPECTS(magic == file_magic && small[0] == header_bytes && reserved == 0, corrupt_data,
                    "SEAL object: it does not begin with the header of one");
  HALOCLINE_EXPECTS(small[1] == file_major && small[2] <= newest_minor, corrupt_data, "SEAL object: version ",
                    unsigned{small[1]}, ".", unsigned{small[2]}, "; expected 4.0 to 4.", newest_minor);
  HALOCLINE_EXPECTS(small[3] <= 2, corrupt_data, "SEAL object: compression ", unsigned{small[3]},
                    "; expected 0 (none), 1 (zlib) or 2 (zstd)");
  HALOCLINE_EXPECTS(head.bytes >= header_bytes, corrupt_data, "SEAL object: a size of ", head.bytes,
                    " bytes; expected at least ", header_bytes);
  head.major = small[1];
  head.minor = small[2];
  head.compression = small[3];
  return head;
}

parameters read_parameters(std::span<const std::byte> bytes, const read_limits& limits) {
  return read_object(bytes, limits, "SEAL parameters", false,
                     [&](fields& from) { return get_parameters(from, limits.allow_empty); });
}
ciphertext read_ciphertext(std::span<const std::byte> bytes, const read_limits& limits) {
  return read_object(bytes, limits, "SEAL ciphertext", false,
                     [&](fields& from) { return get_ciphertext(from, limits.allow_empty); });
}
plaintext read_plaintext(std::span<const std::byte> bytes, const read_limits& limits) {
  return read_object(bytes, limits, "SEAL plaintext", false, get_plaintext);
}
plaintext read_secret_key(std::span<const std::byte> bytes, const read_limits& limits) {
  return read_object(bytes, limits, "SEAL secret key", true, get_plaintext);
}
ciphertext read_public_key(std::span<const std::byte> bytes, const read_limits& limits) {
  return read_object(bytes, limits, "SEAL public key", false,
                     [&](fields& from) { return get_ciphertext(from, limits.allow_empty); });
}
switch_keys read_switch_keys(std::span<const std::byte> bytes, const read_limits& limits) {
  return read_object(bytes, limits, "SEAL keys", false, get_switch_keys);
}

}  // namespace halocline::seal_format

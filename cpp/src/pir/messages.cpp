// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/messages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bit_packing.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/io/checksum.hpp"
#include "message_frame.hpp"

namespace halocline::pir {
namespace {

constexpr std::size_t seed_bytes = sizeof(arith::seed_bytes);
constexpr std::size_t tag_bytes = 16;
constexpr std::size_t hash_bytes = sizeof(key_stamp::hash);
constexpr std::size_t seal_bytes = sizeof(key_stamp::seal);
/// Of an answer, before its words.
constexpr std::size_t answer_start_bytes = tag_bytes + hash_bytes + seal_bytes;

/// Bytes of one packed polynomial: the residues of a prime have its bit length.
std::size_t polynomial_bytes(const parameters& of) {
  std::size_t total = 0;
  for (const std::uint64_t prime : of.primes()) {
    total += packed_bytes(of.n(), static_cast<unsigned>(std::bit_width(prime)));
  }
  return total;
}

std::size_t key_rows(const geometry& of, std::uint32_t levels) {
  const std::size_t digits = std::size_t{levels} * of.at.expansion.digits + of.at.secret.digits;
  return digits * of.scheme.primes().size();
}

std::size_t answer_plane_bytes(const geometry& of) {
  return packed_bytes(of.scheme.n(), of.at.answer_bits0) + packed_bytes(of.scheme.n(), of.at.answer_bits1);
}

/// Writes polynomials limb by limb.
void pack_polynomials(const message_kind& kind, const parameters& of, std::span<const std::uint32_t> residues,
                      std::span<std::byte> out) {
  for (std::size_t limb = 0; limb * of.n() < residues.size(); ++limb) {
    const std::uint64_t prime = of.primes()[limb % of.primes().size()];
    const auto values = residues.subspan(limb * of.n(), of.n());
    HALOCLINE_EXPECTS(*std::ranges::max_element(values) < prime, invalid_argument, kind.what,
                      ": a residue is not below its prime ", prime);
    const auto bits = static_cast<unsigned>(std::bit_width(prime));
    pack_bits(values, bits, out.data());
    out = out.subspan(packed_bytes(of.n(), bits));
  }
}

/// Reads what `pack_polynomials` wrote. The length is checked before.
std::vector<std::uint32_t> unpack_polynomials(const message_kind& kind, const parameters& of,
                                              std::span<const std::byte> packed, std::size_t polynomials) {
  const std::size_t limbs = polynomials * of.primes().size();
  std::vector<std::uint32_t> residues(limbs * of.n());
  for (std::size_t limb = 0; limb < limbs; ++limb) {
    const std::uint64_t prime = of.primes()[limb % of.primes().size()];
    const auto bits = static_cast<unsigned>(std::bit_width(prime));
    const auto values = std::span(residues).subspan(limb * of.n(), of.n());
    unpack_bits(packed.first(packed_bytes(of.n(), bits)), bits, values);
    HALOCLINE_EXPECTS(*std::ranges::max_element(values) < prime, corrupt_data, kind.what,
                      ": a residue is not below its prime ", prime);
    packed = packed.subspan(packed_bytes(of.n(), bits));
  }
  return residues;
}

void expect_fingerprint(const message_kind& kind, const fingerprint& found, const fingerprint& expected) {
  HALOCLINE_EXPECTS(found == expected, invalid_argument, kind.what, ": it names ", hexadecimal(found),
                    "; the geometry is ", hexadecimal(expected));
}

void expect_count(const message_kind& kind, std::size_t found, std::size_t expected) {
  HALOCLINE_EXPECTS(found == expected, invalid_argument, kind.what, ": ", found, " numbers; expected ",
                    expected);
}

void check_levels(const geometry& of, std::uint32_t levels) {
  const unsigned depth = of.at.expansion_depth(of.scheme);
  HALOCLINE_EXPECTS(levels >= depth && levels <= of.scheme.source().log_n, invalid_argument, keys_kind.what,
                    ": they expand ", levels, " levels; this database needs ", depth, " to ",
                    of.scheme.source().log_n, ". Make keys for it");
}

/// Calls `visit(words, bits)` for each component of each plane.
template <typename WordT, typename VisitT>
void for_each_component(const geometry& of, std::span<WordT> words, const VisitT& visit) {
  const std::size_t n = of.scheme.n();
  for (std::size_t first = 0; first < words.size(); first += 2 * n) {
    visit(words.subspan(first, n), of.at.answer_bits0);
    visit(words.subspan(first + n, n), of.at.answer_bits1);
  }
}

}  // namespace

std::string to_string(const client_id& id) { return hexadecimal(id); }

std::array<std::uint8_t, 16> hash_of_keys(std::span<const std::byte> message) {
  HALOCLINE_EXPECTS(message.size() >= header_bytes + seal_bytes + checksum_bytes, invalid_argument,
                    keys_kind.what, ": only ", message.size(), " bytes; expected a whole message");
  return io::blake2b_128(message.first(message.size() - seal_bytes - checksum_bytes));
}

std::array<std::uint8_t, 16> tag_of(std::span<const std::byte> query) { return io::blake2b_128(query); }

std::vector<std::byte> write_server_keys(const geometry& of, const server_keys_message& keys) {
  expect_fingerprint(keys_kind, keys.key_shape, key_shape_of(of));
  check_levels(of, keys.levels);
  const std::size_t rows = key_rows(of, keys.levels);
  expect_count(keys_kind, keys.b.size(), rows * of.scheme.primes().size() * of.scheme.n());
  std::vector<std::byte> out = begin_frame(keys_kind, {keys.levels, keys.key_shape, keys.client},
                                           seed_bytes + rows * polynomial_bytes(of.scheme) + seal_bytes);
  const std::span<std::byte> content = content_of(out);
  std::memcpy(content.data(), keys.seed.data(), seed_bytes);
  pack_polynomials(keys_kind, of.scheme, keys.b, content.subspan(seed_bytes));
  std::memcpy(content.last(seal_bytes).data(), keys.stamp.seal.data(), seal_bytes);
  finish_frame(out);
  return out;
}

server_keys_message read_server_keys(const geometry& of, std::span<const std::byte> bytes) {
  const open_frame in = read_frame(keys_kind, key_shape_of(of), "key shape", bytes);
  check_levels(of, in.header.levels);
  const std::size_t rows = key_rows(of, in.header.levels);
  expect_content(keys_kind, in, seed_bytes + rows * polynomial_bytes(of.scheme) + seal_bytes);
  server_keys_message keys{in.header.of, in.header.client, in.header.levels, {}, {}, {}};
  std::memcpy(keys.seed.data(), in.content.data(), seed_bytes);
  keys.b = unpack_polynomials(keys_kind, of.scheme, in.content.subspan(seed_bytes), rows);
  keys.stamp.hash = hash_of_keys(bytes);
  std::memcpy(keys.stamp.seal.data(), in.content.last(seal_bytes).data(), seal_bytes);
  return keys;
}

std::vector<std::byte> write_query(const geometry& of, const query_message& query) {
  expect_fingerprint(query_kind, query.database, fingerprint_of(of));
  expect_count(query_kind, query.c0.size(), of.scheme.primes().size() * of.scheme.n());
  std::vector<std::byte> out =
      begin_frame(query_kind, {0, query.database, query.client}, seed_bytes + polynomial_bytes(of.scheme));
  std::memcpy(content_of(out).data(), query.seed.data(), seed_bytes);
  pack_polynomials(query_kind, of.scheme, query.c0, content_of(out).subspan(seed_bytes));
  finish_frame(out);
  return out;
}

query_message read_query(const geometry& of, std::span<const std::byte> bytes) {
  const open_frame in = read_frame(query_kind, fingerprint_of(of), "database", bytes);
  expect_content(query_kind, in, seed_bytes + polynomial_bytes(of.scheme));
  query_message query{in.header.of, in.header.client, {}, {}};
  std::memcpy(query.seed.data(), in.content.data(), seed_bytes);
  query.c0 = unpack_polynomials(query_kind, of.scheme, in.content.subspan(seed_bytes), 1);
  return query;
}

std::vector<std::byte> write_answer(const geometry& of, const answer_message& answer) {
  expect_fingerprint(answer_kind, answer.database, fingerprint_of(of));
  expect_count(answer_kind, answer.words.size(), std::size_t{2} * of.planes() * of.scheme.n());
  std::vector<std::byte> out = begin_frame(answer_kind, {0, answer.database, answer.client},
                                           answer_start_bytes + of.planes() * answer_plane_bytes(of));
  std::byte* to = content_of(out).data();
  for (const auto& each : {answer.query, answer.keys.hash, answer.keys.seal}) {
    to = std::copy_n(std::as_bytes(std::span(each)).data(), each.size(), to);
  }
  for_each_component(of, std::span(answer.words), [&to](std::span<const std::uint64_t> words, unsigned bits) {
    HALOCLINE_EXPECTS(*std::ranges::max_element(words) >> bits == 0, invalid_argument, answer_kind.what,
                      ": a word has more than ", bits, " bits");
    pack_bits(words, bits, to);
    to += packed_bytes(words.size(), bits);
  });
  finish_frame(out);
  return out;
}

answer_message read_answer(const geometry& of, std::span<const std::byte> bytes) {
  const open_frame in = read_frame(answer_kind, fingerprint_of(of), "database", bytes);
  expect_content(answer_kind, in, answer_start_bytes + of.planes() * answer_plane_bytes(of));
  answer_message answer{in.header.of, in.header.client, {}, {}, {}};
  std::memcpy(answer.query.data(), in.content.data(), tag_bytes);
  std::memcpy(answer.keys.hash.data(), in.content.data() + tag_bytes, hash_bytes);
  std::memcpy(answer.keys.seal.data(), in.content.data() + tag_bytes + hash_bytes, seal_bytes);
  answer.words.resize(std::size_t{2} * of.planes() * of.scheme.n());
  std::span<const std::byte> rest = in.content.subspan(answer_start_bytes);
  for_each_component(of, std::span(answer.words), [&rest](std::span<std::uint64_t> words, unsigned bits) {
    unpack_bits(rest.first(packed_bytes(words.size(), bits)), bits, words);
    rest = rest.subspan(packed_bytes(words.size(), bits));
  });
  return answer;
}

message_sizes message_sizes_of(const geometry& of) {
  const std::size_t polynomial = polynomial_bytes(of.scheme);
  const std::size_t rows = key_rows(of, of.at.expansion_depth(of.scheme));
  constexpr std::size_t frame = header_bytes + checksum_bytes;
  return {frame + seed_bytes + rows * polynomial + seal_bytes, frame + seed_bytes + polynomial,
          frame + answer_start_bytes + of.planes() * answer_plane_bytes(of)};
}

}  // namespace halocline::pir

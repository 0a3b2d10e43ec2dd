// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halocline/arith/uniform_source.hpp"
#include "halocline/pir/geometry.hpp"

/// What clients and servers send each other. All integers little endian; docs/reference/retrieval_messages.md
/// has the bytes. Everything is checked before it is used: kind, version, fingerprints, lengths, a checksum
/// (against accidents, not attackers), and that every residue is below its prime.
namespace halocline::pir {

/// Public name of a client's secret: 16 random bytes.
using client_id = std::array<std::uint8_t, 16>;
/// Hexadecimal.
[[nodiscard]] std::string to_string(const client_id& id);

/// Binds an answer to the keys that it was computed with: a client recognises its own, and no other party can
/// make a stamp that it takes.
struct key_stamp {
  std::array<std::uint8_t, 16> hash{};  ///< BLAKE2b-128 of the keys' message, up to the seal
  std::array<std::uint8_t, 16> seal{};  ///< BLAKE2b-128 of the hash, under a key of the client that made them
};

/// Keys of a client for servers: rows of encryptions (b, a) in NTT form, where a is the stream `source(row)`
/// of the seed and b is sent. In order: for each level of the expansion L * digits rows, which encrypt s
/// times the gadget under s(X^(1/g)), then those of s^2 under s. b and a are in Montgomery form.
struct server_keys_message {
  fingerprint key_shape{};
  client_id client{};
  std::uint32_t levels = 0;  ///< of expansion keys: at least the depth of the database's expansion
  arith::seed_bytes seed{};
  std::vector<std::uint32_t> b;  ///< rows * L * N residues
  key_stamp stamp{};             ///< `read_server_keys` computes the hash; writing needs the seal only
};

/// A query: one ciphertext (c0, a) in NTT form, where a is stream 0 of the seed.
struct query_message {
  fingerprint database{};
  client_id client{};
  arith::seed_bytes seed{};
  std::vector<std::uint32_t> c0;  ///< L * N residues
};

/// An answer: one ciphertext for each plane, rounded to moduli of 2^bits.
struct answer_message {
  fingerprint database{};
  client_id client{};
  std::array<std::uint8_t, 16> query{};  ///< `tag_of` the query that it answers
  key_stamp keys{};                      ///< of the keys that it was computed with
  std::vector<std::uint64_t> words;      ///< 2 N for each plane: c0, then c1
};

/// BLAKE2b-128 of a query's bytes.
[[nodiscard]] std::array<std::uint8_t, 16> tag_of(std::span<const std::byte> query);

/// Hash of the keys in a message of `write_server_keys`.
[[nodiscard]] std::array<std::uint8_t, 16> hash_of_keys(std::span<const std::byte> message);

/// Messages as bytes. Sizes depend on the geometry only, those of keys on their levels too.
/// @throws invalid_argument for a message that `read_*` would refuse
[[nodiscard]] std::vector<std::byte> write_server_keys(const geometry& of, const server_keys_message& keys);
[[nodiscard]] std::vector<std::byte> write_query(const geometry& of, const query_message& query);
[[nodiscard]] std::vector<std::byte> write_answer(const geometry& of, const answer_message& answer);

/// Messages from bytes.
/// @throws corrupt_data for what is no such message, truncated, damaged, or has residues that are not
/// reduced;
///   invalid_argument for a message of another scheme or database, or keys of fewer levels than it needs
[[nodiscard]] server_keys_message read_server_keys(const geometry& of, std::span<const std::byte> bytes);
[[nodiscard]] query_message read_query(const geometry& of, std::span<const std::byte> bytes);
[[nodiscard]] answer_message read_answer(const geometry& of, std::span<const std::byte> bytes);

/// What the header of a message or secret says.
struct message_info {
  std::string kind{};        ///< "retrieval keys", "retrieval query", "retrieval answer", "retrieval secret"
  std::uint32_t levels = 0;  ///< of expansion keys; 0 in all others
  fingerprint of{};          ///< key shape of keys, scheme of secrets, database of queries and answers
  client_id client{};
};
/// Reads the header of any of them and compares the checksum; the content stays unread.
/// @throws corrupt_data
[[nodiscard]] message_info inspect_message(std::span<const std::byte> bytes);

/// Exact sizes of these, in bytes; of the keys that a client of this geometry makes.
struct message_sizes {
  std::size_t server_keys = 0;
  std::size_t query = 0;
  std::size_t answer = 0;
};
/// Sizes for a geometry.
[[nodiscard]] message_sizes message_sizes_of(const geometry& of);

}  // namespace halocline::pir

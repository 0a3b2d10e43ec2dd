// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halocline/arith/modulus.hpp"
#include "halocline/pir/client.hpp"
#include "halocline/ring/small_poly.hpp"

/// What a client computes with, and its steps.
namespace halocline::pir {

/// Numbers that are zeroed at the end of their scope.
template <typename ValueT>
struct wiped {
  explicit wiped(std::size_t count) : values(count) {}
  ~wiped() { sodium_memzero(values.data(), values.size() * sizeof(ValueT)); }
  wiped(const wiped&) = delete;
  wiped& operator=(const wiped&) = delete;

  std::vector<ValueT> values;
};

/// Context, randomness and secret of a client.
struct client_core {
  client_core(geometry of, std::shared_ptr<backend::backend> device,
              const std::optional<arith::seed_bytes>& seed);

  /// Draws an identifier, a secret and the key of seals.
  void draw_secret();
  /// Takes ternary coefficients, N of them. The key of seals is set apart.
  void set_secret(const client_id& id, ring::small_coefficients& coefficients);

  /// An uninitialised polynomial modulo all primes, zeroed when freed.
  [[nodiscard]] ring::poly make_poly(const char* tag);
  /// dst = a fresh error, NTT form.
  void draw_error(const backend::limb_view& dst);
  /// Residues of a polynomial.
  void download(const ring::poly& from, std::span<std::uint32_t> out) const;
  [[nodiscard]] arith::modulus<std::uint32_t> modulus_of(std::size_t limb) const;

  context ctx;
  ring::random_source random;
  client_id id{};
  memory::buffer coefficients;  ///< of the secret: N signed 64-bit integers, zeroed when freed
  ring::poly secret;            ///< NTT form, zeroed when freed
  memory::buffer error_table;
  wiped<std::uint8_t> seal_key{32};  ///< under which keys for servers are sealed; part of the secret

 private:
  void transform_secret();
};

/// `client::server_keys` before packing.
[[nodiscard]] server_keys_message make_server_keys(client_core& core);
/// `client::query` before packing, for a plaintext number.
[[nodiscard]] query_message make_query(client_core& core, std::uint64_t plaintext);
/// Bytes of the plaintexts of an answer, plane by plane, into `out`.
void decode_planes(client_core& core, const answer_message& answer, std::span<std::byte> out);

/// Writes the seal of keys into a message of `write_server_keys`.
void seal_keys(const client_core& core, std::vector<std::byte>& message);
/// Whether this client made the keys with such a stamp. Takes the same time for all seals.
[[nodiscard]] bool made_keys(const client_core& core, const key_stamp& stamp);

/// Bytes of a secret and its identifier (docs/reference/retrieval_messages.md).
[[nodiscard]] std::vector<std::byte> write_secret(const client_core& core);
/// Reads these into a client.
/// @throws corrupt_data, invalid_argument
void read_secret(client_core& core, std::span<const std::byte> bytes);

struct client::state : client_core {
  using client_core::client_core;
};

}  // namespace halocline::pir

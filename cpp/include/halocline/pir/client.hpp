// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halocline/pir/context.hpp"
#include "halocline/pir/messages.hpp"
#include "halocline/ring/poly.hpp"
#include "halocline/ring/sampler.hpp"

namespace halocline::pir {

/// Reads the secret where tests measure noise (cpp/tests/support/pir_probe.hpp).
struct client_probe;

/// A client of one database: has the secret, makes server keys and queries, decodes answers. Needs no
/// database and no accelerator. Not thread-safe.
class client {
 public:
  /// Draws a secret.
  /// @param device nullptr: a CPU backend of its own, with one thread
  /// @param seed for tests only: everything random follows from it
  explicit client(geometry of, std::shared_ptr<backend::backend> device = nullptr,
                  std::optional<arith::seed_bytes> seed = {});
  /// A client with the secret of `secret_bytes`, which may serve any database of the same ring and errors.
  /// @throws corrupt_data, invalid_argument for a secret of another ring
  [[nodiscard]] static client from_secret(geometry of, std::span<const std::byte> secret,
                                          std::shared_ptr<backend::backend> device = nullptr);
  client(client&&) noexcept;
  ~client();

  /// The secret, for a file that only its owner may read. The caller wipes the bytes.
  [[nodiscard]] std::vector<std::byte> secret_bytes() const;
  [[nodiscard]] const client_id& id() const noexcept;
  [[nodiscard]] const geometry& shape() const noexcept;

  /// Keys that a server needs to answer this client's queries, `write_server_keys`, sealed. Sent once.
  [[nodiscard]] std::vector<std::byte> server_keys();
  /// A fresh query for a record, `write_query`. The same record gives other bytes each time.
  /// @throws invalid_argument for a record that there is not
  [[nodiscard]] std::vector<std::byte> query(std::uint64_t record);
  /// The record from the answer to a query for it.
  /// @param query the bytes of that query, which the answer must name
  /// @throws corrupt_data, invalid_argument for bytes of another scheme or database; key_mismatch for an
  /// answer to another client or query, or one computed with keys that no client of this secret made
  [[nodiscard]] std::vector<std::byte> decode(std::uint64_t record, std::span<const std::byte> query,
                                              std::span<const std::byte> answer);

 private:
  friend struct client_probe;
  struct state;
  explicit client(std::unique_ptr<state> made) noexcept;
  std::unique_ptr<state> state_;
};

}  // namespace halocline::pir

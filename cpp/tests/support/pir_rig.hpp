// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/pir/client.hpp"
#include "halocline/pir/server.hpp"

/// Clients and servers of small databases, deterministic.
namespace halocline::test {

using bytes = std::vector<std::byte>;

[[nodiscard]] inline bytes random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  bytes made(count);
  for (std::byte& each : made) each = static_cast<std::byte>(random());
  return made;
}

/// A seed for a client.
[[nodiscard]] inline arith::seed_bytes seed_of(std::uint8_t number) {
  arith::seed_bytes seed{};
  seed.fill(number);
  return seed;
}

[[nodiscard]] inline std::shared_ptr<backend::backend> make_device(const char* name = "cpu",
                                                                   unsigned threads = 1,
                                                                   bool scalar = false) {
  return backend::make_backend(name, {.memory = {}, .threads = threads, .scalar = scalar});
}

/// A set, insecure ones too.
[[nodiscard]] inline pir::parameters set_named(const std::string& name) { return pir::preset(name, true); }

/// The same choice of integers in all databases.
[[nodiscard]] inline pir::server_options with_lift_key(pir::server_options options = {}) {
  if (!options.database.lift_key) options.database.lift_key = seed_of(77);
  return options;
}

/// A database of random records, and its server.
struct pir_rig {
  pir::geometry shape;
  bytes records;
  pir::server server;

  explicit pir_rig(pir::geometry of, std::shared_ptr<backend::backend> device = make_device(),
                   pir::server_options options = {})
      : shape(of),
        records(random_bytes(of.records * of.record_bytes, 16)),
        server(of, pir::make_memory_records(records), std::move(device), with_lift_key(std::move(options))) {}

  [[nodiscard]] std::span<const std::byte> record(std::uint64_t number) const {
    return std::span(records).subspan(number * shape.record_bytes, shape.record_bytes);
  }
  /// A client with keys that the server has.
  struct user {
    pir::client client;
    std::shared_ptr<const pir::server_keys> keys;
  };
  [[nodiscard]] user make_user(std::uint8_t number) {
    pir::client made(shape, make_device(), seed_of(number));
    const bytes message = made.server_keys();
    return {std::move(made), server.load_keys(message)};
  }
  /// The answer to one query.
  [[nodiscard]] bytes answer(const user& of, const bytes& query) {
    const std::span<const std::byte> view = query;
    return server.answer({&of.keys, 1}, {&view, 1}).front();
  }
  /// A record as its client gets it.
  [[nodiscard]] bytes fetch(user& of, std::uint64_t record) {
    const bytes query = of.client.query(record);
    return of.client.decode(record, query, answer(of, query));
  }
};

}  // namespace halocline::test

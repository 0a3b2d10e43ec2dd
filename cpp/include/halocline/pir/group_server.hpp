// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "halocline/backend/peers.hpp"
#include "halocline/pir/server.hpp"

namespace halocline::pir {

struct batch_steps;

/// How several devices share a database.
enum class spread : std::uint8_t {
  replicas,  ///< each has all of it and answers part of a batch: no traffic between them
  columns,  ///< column j is on device j mod count: each answers for all of a batch, with part of the database
};

/// Keys of one client, on those devices of a group that have needed them.
class group_keys {
 public:
  group_keys(std::vector<std::byte> message, client_id client, const key_stamp& stamp, std::size_t devices)
      : message_(std::move(message)), client_(client), stamp_(stamp), loaded_(devices) {}
  [[nodiscard]] const client_id& client() const noexcept { return client_; }
  [[nodiscard]] const key_stamp& stamp() const noexcept { return stamp_; }
  /// Bytes of expanded keys on all devices together.
  [[nodiscard]] std::size_t loaded_bytes() const noexcept;

 private:
  friend class group_server;
  std::vector<std::byte> message_;
  client_id client_;
  key_stamp stamp_;
  std::vector<std::shared_ptr<const server_keys>> loaded_;
};

/// Answers queries with several devices of one host. Gives the integers of `server`. Not thread-safe: one
/// batch at a time.
///
/// With `spread::columns`, each device expands a part of the batch, sends the expanded queries to the others
/// while it expands the next ones, multiplies all of them with its columns, and selects among these by the
/// higher bits of the column number. Each query's device then gathers one ciphertext of each device and
/// selects by the lower bits.
class group_server {
 public:
  /// @param devices one, two, four or eight; not more than columns where these are spread
  /// @throws invalid_argument for other devices; as `server`; device_error as `backend::make_peers`
  group_server(geometry of, const std::shared_ptr<record_store>& records,
               std::vector<std::shared_ptr<backend::backend>> devices, spread how,
               server_options options = {});
  ~group_server();
  group_server(const group_server&) = delete;
  group_server& operator=(const group_server&) = delete;

  /// How many there are.
  [[nodiscard]] std::size_t devices() const noexcept { return members_.size(); }
  /// How expanded queries travel: "host" or "nccl"; "none" where nothing does.
  [[nodiscard]] std::string_view link() const noexcept;

  /// Checks keys of a client; devices expand them when they need them.
  /// @throws corrupt_data, invalid_argument
  [[nodiscard]] std::shared_ptr<group_keys> load_keys(std::span<const std::byte> message) const;
  /// Answers to queries, in their order, as `server::answer`.
  [[nodiscard]] std::vector<std::vector<std::byte>> answer(
      std::span<const std::shared_ptr<group_keys>> keys, std::span<const std::span<const std::byte>> queries);
  /// Replaces a record, in the store first, and on all devices that have it. Not while a batch is answered.
  void replace(std::uint64_t record, std::span<const std::byte> bytes);
  /// Reads a record of the store again, on all devices that have it, as `database::refresh`. The first error
  /// is thrown when all of them have been asked.
  void refresh(std::uint64_t record);

 private:
  struct member;
  struct batch;
  using answers = std::vector<std::vector<std::uint64_t>>;
  using messages = std::vector<std::vector<std::byte>>;
  /// Queries as they came, and the number of the first one within the batch.
  struct asked {
    std::span<const std::shared_ptr<group_keys>> keys;
    std::span<const std::span<const std::byte>> queries;
    std::size_t first;
  };

  /// Queries that `devices` members share, from `first_member` on.
  [[nodiscard]] batch check(const asked& of, std::size_t first_member, std::size_t devices) const;
  [[nodiscard]] messages write(const asked& of, const batch& checked, const answers& words) const;
  /// Threads of the host that read the queries of a batch, or write its answers.
  [[nodiscard]] std::size_t threads_for(std::span<const std::span<const std::byte>> queries) const;
  [[nodiscard]] batch_steps steps(const member& on, std::size_t queries) const;
  [[nodiscard]] fusion_choice fused(const member& on, std::size_t queries) const;
  [[nodiscard]] std::vector<expanded_query> expand(member& on, std::span<const client_query> queries) const;
  void expand_and_share(batch& of);
  [[nodiscard]] messages run_replica(const asked& of, std::size_t number) const;
  [[nodiscard]] messages run_replicas(const asked& of) const;
  [[nodiscard]] answers run_columns(batch& of);
  void share(std::size_t owner, std::size_t first, std::size_t count);
  /// Room on a device for the results of all devices for its queries: its own are copied, copies of the
  /// others' are added to `copies`.
  [[nodiscard]] selected_columns collect(const batch& of, std::uint32_t owner,
                                         std::span<const selected_columns> columns,
                                         std::vector<backend::peer_copy>& copies);
  [[nodiscard]] answers gather(batch& of);

  geometry shape_;
  spread how_;
  server_options options_;
  std::vector<std::unique_ptr<member>> members_;
  std::unique_ptr<backend::peers> peers_;
};

}  // namespace halocline::pir

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halocline/memory/plan/plan.hpp"
#include "halocline/pir/stages.hpp"

namespace halocline::pir {

/// How a server keeps its database and runs its stages.
struct server_options {
  database_options database{};
  /// Kernels of the levels; by the table of `choose_fusion` unless given.
  std::optional<fusion_choice> fused{};
  /// Bytes that temporaries of a batch should keep to, as far as one query and one group of columns do:
  /// larger batches are then expanded and multiplied in parts. 0: half of a budget whose buffers move, else
  /// what the database leaves of the memory.
  std::size_t scratch_bytes = 0;
};

/// Seconds of the stages of a batch.
struct stage_times {
  double expansion = 0;
  double completion = 0;
  double rows = 0;
  double columns = 0;
  double answers = 0;
};

/// What a plan did for the last batch, under the policy `planned`.
struct plan_report {
  bool followed = false;  ///< to the end; also false where there was no plan
  std::string reason{};   ///< why it was left; else empty
  memory::plan::forecast expected{};
};

class batch_plans;

/// Answers queries to one database. Under the policy `planned`, with a budget, batches follow plans: see
/// docs/concepts/planning.md. Not thread-safe: one batch at a time.
class server {
 public:
  /// @throws as `database`
  server(geometry of, std::shared_ptr<record_store> records, std::shared_ptr<backend::backend> device,
         server_options options = {});
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server();

  /// What it computes with, and its database.
  [[nodiscard]] context& scope() noexcept { return ctx_; }
  [[nodiscard]] database& records() noexcept { return database_; }

  /// Keys of a client in the memory of this server.
  /// @throws corrupt_data, invalid_argument, out_of_memory
  [[nodiscard]] std::shared_ptr<const server_keys> load_keys(std::span<const std::byte> message);

  /// Answers to queries, in their order. All queries are checked before any is answered.
  /// @param keys of the client of each query, from `load_keys`
  /// @throws corrupt_data, invalid_argument for bytes of another scheme or database, or keys of another
  /// server; key_mismatch for keys of another client. The message has the number of the query, from 0;
  /// nothing is answered then
  [[nodiscard]] std::vector<std::vector<std::byte>> answer(
      std::span<const std::shared_ptr<const server_keys>> keys,
      std::span<const std::span<const std::byte>> queries);
  /// Of the last batch. Kernels of an accelerator are waited for after each stage when `time_stages` asks for
  /// it; without, these are the times until they were submitted.
  [[nodiscard]] const stage_times& times() const noexcept { return times_; }
  void time_stages(bool timed) noexcept { timed_ = timed; }
  [[nodiscard]] plan_report last_plan() const;

 private:
  friend class batch_plans;  // runs batches without messages
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> run_planned(std::span<const client_query> batch);
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> run(std::span<const client_query> batch,
                                                            const fusion_choice& how);
  /// Queries that pass over the database together.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> run_pass(std::span<const client_query> batch,
                                                                 const fusion_choice& how);

  context ctx_;
  database database_;
  server_options options_;
  bool chooses_scratch_;
  std::unique_ptr<batch_plans> plans_;
  stage_times times_;
  bool timed_ = false;
};

}  // namespace halocline::pir

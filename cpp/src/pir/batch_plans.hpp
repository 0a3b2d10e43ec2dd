// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "halocline/memory/plan/plan.hpp"
#include "halocline/pir/server.hpp"

namespace halocline::pir {

/// Plans of batches, for servers under the policy `planned`. Which buffers a batch touches depends on the
/// number of its queries, and on which of them share keys, but not on what is asked: a server on a ghost
/// answers a batch of the same shape, and its accesses are planned.
///
/// The first plan of a shape begins with what is in the fast tier then. From its second batch on, a plan
/// begins with what it leaves there itself, and uses measured times.
class batch_plans {
 public:
  /// The plans of a server on `device`; nullptr where none are followed.
  [[nodiscard]] static std::unique_ptr<batch_plans> of(const geometry& shape, const server_options& options,
                                                       backend::backend& device);
  ~batch_plans();

  /// Begins the plan of a batch, which is made where there is none yet. Without a budget there is none.
  /// @param scratch_bytes,how that the server uses for it
  /// @throws out_of_memory with the smallest budget that would do
  void begin(std::span<const client_query> batch, std::size_t scratch_bytes, const fusion_choice& how);
  /// Ends it, if there is one. A batch that left its plan was finished under `lru`, and the plan is dropped.
  void end();
  [[nodiscard]] const plan_report& last() const noexcept { return last_; }

 private:
  /// For each query: the first one with the same keys, and the levels of these.
  using batch_shape = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  struct kept {
    std::shared_ptr<const memory::plan::plan> plan;
    bool is_steady = false;
  };

  batch_plans(const geometry& shape, const server_options& options, backend::backend& device);
  [[nodiscard]] static batch_shape shape_of(std::span<const client_query> batch);
  [[nodiscard]] memory::trace record(const batch_shape& of, const fusion_choice& how);
  [[nodiscard]] std::shared_ptr<const memory::plan::plan> make(const batch_shape& of, bool is_steady,
                                                               const fusion_choice& how);

  backend::backend& device_;
  std::unique_ptr<server> twin_;
  std::map<batch_shape, kept> plans_;
  const batch_shape* active_ = nullptr;
  plan_report last_;
};

}  // namespace halocline::pir

// SPDX-License-Identifier: Apache-2.0
#include "pir/batch_plans.hpp"

#include <algorithm>

#include "halocline/backend/registry.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/plan/program.hpp"

namespace halocline::pir {
namespace {

/// Plans that are kept: shapes of batches are few, except where clients share batches in ever new ways.
constexpr std::size_t most_plans = 32;

/// Whether a plan brings anything into the fast tier.
bool moves(const memory::plan::plan& of) {
  return of.expected.loaded_bytes + of.expected.expanded_bytes + of.expected.encoded_bytes > 0;
}

}  // namespace

std::unique_ptr<batch_plans> batch_plans::of(const geometry& shape, const server_options& options,
                                             backend::backend& device) {
  const memory::runtime& runtime = device.runtime();
  if (runtime.options().policy != "planned" || !runtime.moves() || runtime.is_ghost()) return nullptr;
  return std::unique_ptr<batch_plans>(new batch_plans(shape, options, device));
}

batch_plans::batch_plans(const geometry& shape, const server_options& options, backend::backend& device)
    : device_(device) {
  backend::backend_options ghost;
  ghost.memory.policy = "planned";
  ghost.memory.keep_sources = device.runtime().options().keep_sources;
  server_options silent = options;
  silent.database.progress = {};
  twin_ = std::make_unique<server>(shape, nullptr, backend::make_backend("ghost", ghost), silent);
}

batch_plans::~batch_plans() = default;

batch_plans::batch_shape batch_plans::shape_of(std::span<const client_query> batch) {
  batch_shape made;
  for (const client_query& each : batch) {
    const auto first = std::find_if(batch.begin(), batch.end(),
                                    [&](const client_query& other) { return other.keys == each.keys; });
    made.emplace_back(static_cast<std::uint32_t>(first - batch.begin()), each.keys->levels);
  }
  return made;
}

memory::trace batch_plans::record(const batch_shape& of, const fusion_choice& how) {
  const geometry& shape = twin_->scope().shape();
  const query_message empty{fingerprint_of(shape),
                            {},
                            {},
                            std::vector<std::uint32_t>(shape.scheme.n() * shape.scheme.primes().size())};
  std::vector<std::unique_ptr<server_keys>> keys;
  std::vector<client_query> batch;
  for (std::size_t i = 0; i < of.size(); ++i) {
    keys.push_back(of[i].first == i ? std::make_unique<server_keys>(make_keys(twin_->scope(), of[i].second))
                                    : nullptr);
    batch.push_back({keys[of[i].first].get(), &empty});
  }
  memory::runtime& runtime = twin_->scope().runtime();
  (void)twin_->run(batch, how);  // makes tables, which are no part of a batch
  runtime.start_trace();
  (void)twin_->run(batch, how);
  return runtime.stop_trace();
}

std::shared_ptr<const memory::plan::plan> batch_plans::make(const batch_shape& of, bool is_steady,
                                                            const fusion_choice& how) {
  memory::runtime& runtime = device_.runtime();
  memory::plan::planner_options options = runtime.planning(runtime.budget_bytes());
  options.steady = is_steady;
  return std::make_shared<const memory::plan::plan>(
      memory::plan::make_plan(memory::plan::make_program(record(of, how), options.costs), options));
}

void batch_plans::begin(std::span<const client_query> batch, std::size_t scratch_bytes,
                        const fusion_choice& how) {
  if (device_.runtime().budget_bytes() == 0) {  // nothing has to move
    last_ = {};
    return;
  }
  twin_->options_.scratch_bytes = scratch_bytes;
  const batch_shape shape = shape_of(batch);
  auto found = plans_.find(shape);
  const bool is_new = found == plans_.end();
  if (is_new || found->second.plan->capacity_bytes != device_.runtime().budget_bytes() ||
      (!found->second.is_steady && moves(*found->second.plan))) {
    if (is_new && plans_.size() == most_plans) plans_.clear();
    found = plans_.insert_or_assign(shape, kept{make(shape, !is_new, how), !is_new}).first;
  }
  last_ = {true, {}, found->second.plan->expected};
  device_.runtime().begin_plan(found->second.plan);
  active_ = &found->first;
}

void batch_plans::end() {
  if (active_ == nullptr) return;
  const memory::plan_outcome outcome = device_.runtime().end_plan();
  last_.followed = !outcome.diverged;
  last_.reason = outcome.reason;
  if (outcome.diverged) plans_.erase(*active_);
  active_ = nullptr;
}

}  // namespace halocline::pir

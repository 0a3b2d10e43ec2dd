// SPDX-License-Identifier: Apache-2.0
#include "memory/sim/placed_simulation.hpp"

#include <algorithm>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "halocline/memory/policy/size_history.hpp"

namespace halocline::memory::sim {
namespace {

/// Buffers from before the program have no ordinal: no list of decisions reaches them.
constexpr std::uint64_t before_all = ~std::uint64_t{0};

}  // namespace

placed_simulation::placed_simulation(const device_model& device, const replay_options& options,
                                     std::uint64_t budget_bytes, std::uint64_t needed, machine& clocks,
                                     replay_report& report)
    : device_(device),
      clocks_(clocks),
      report_(report),
      policy_(make_policy(options.policy, options.constants)),
      history_length_(options.constants.history_length),
      needed_(needed),
      pool_(device, clocks, policy_.traits().reuse, budget_bytes),
      managed_(budget_bytes, static_cast<std::uint64_t>(device.block_bytes),
               static_cast<std::uint64_t>(device.fault_page_bytes),
               static_cast<std::uint64_t>(device.fault_batch)) {
  state_.budget_bytes = budget_bytes;
}

void placed_simulation::exists(std::uint64_t number, const sim_object& object) {
  place(number, object, before_all, false);
}

void placed_simulation::allocate(std::uint64_t number, const sim_object& object) {
  const double begin = clocks_.host_us();
  place(number, object, ordinal_++, true);
  report_.allocate_s += (clocks_.host_us() - begin) / us_per_s;
}

void placed_simulation::place(std::uint64_t number, const sim_object& object, std::uint64_t ordinal,
                              bool timed) {
  size_history& history = histories_[object.bytes];
  state_.history = &history;
  state_.pool_bytes = pool_.live_bytes();
  state_.counters.live_bytes = pool_.live_bytes() + managed_.live_bytes();
  const decision chosen = policy_.decide(state_, {object.bytes, object.cls, object.tag, ordinal});
  on_allocate(history, history_length_);
  if (chosen.where == placement::refuse) refuse(object);
  if (chosen.where == placement::pool) {
    add_to_pool(number, object, timed);
  } else {
    add_managed(number, object, chosen.hint, timed);
  }
}

void placed_simulation::add_to_pool(std::uint64_t number, const sim_object& object, bool timed) {
  const std::uint64_t block = pool_.allocate(object.bytes, timed);
  if (pool_.held_bytes() > state_.budget_bytes) refuse(object);  // blocks larger than their buffers
  objects_[number] = {placement::pool, block};
  // Memory that the pool takes from the device is taken from managed blocks; the call waits for their copies.
  const fault_work work = managed_.set_capacity(state_.budget_bytes - pool_.held_bytes());
  count(work);
  clocks_.host_work(service_us(work, device_));
}

void placed_simulation::add_managed(std::uint64_t number, const sim_object& object, advice hint, bool timed) {
  objects_[number] = {placement::managed, 0};
  managed_.add(number, object.bytes, hint, !timed);
  if (timed) clocks_.host_work(device_.managed_allocate_us);
  if (timed || hint != advice::preferred_device) return;
  // What is to stay on the device is brought there in bulk when the program begins (cudaMemPrefetchAsync).
  const std::uint64_t moved = managed_.prefetch(number);
  const double driver_us = device_.prefetch_us_per_mib * static_cast<double>(moved) / (1 << 20);
  clocks_.hold_device(clocks_.load(moved, clocks_.device_us()) + driver_us);
}

void placed_simulation::free(std::uint64_t number, const sim_object& object) {
  const auto found = objects_.find(number);
  if (found->second.where == placement::managed) clocks_.synchronize();
  const double begin = clocks_.host_us();
  if (found->second.where == placement::pool) {
    pool_.free(found->second.block_bytes);
  } else {
    managed_.remove(number);
    clocks_.host_work(device_.managed_free_us);
  }
  report_.free_s += (clocks_.host_us() - begin) / us_per_s;
  on_free(histories_[object.bytes]);
  objects_.erase(found);
}

void placed_simulation::step(const sim_step& step) {
  ranges_.clear();
  for (const managed_range& each : step.ranges) {
    if (objects_.find(each.object)->second.where == placement::managed) ranges_.push_back(each);
  }
  const fault_work work = managed_.touch(ranges_);
  count(work);
  clocks_.run({step.launches, step.us, service_us(work, device_), 0, step.op});
}

void placed_simulation::count(const fault_work& work) {
  report_.faults += work.faults;
  report_.fault_batches += work.batches;
  report_.loaded_bytes += work.migrated_bytes + work.remote_bytes;
  report_.stored_bytes += work.evicted_bytes;
  report_.load_busy_s +=
      static_cast<double>(work.migrated_bytes + work.remote_bytes) / device_.load_bytes_per_s;
  report_.store_busy_s += static_cast<double>(work.evicted_bytes) / device_.store_bytes_per_s;
}

residency_point placed_simulation::residency() const {
  return {0, pool_.held_bytes() + managed_.resident_bytes(), pool_.live_bytes(), managed_.live_bytes()};
}

void placed_simulation::refuse(const sim_object& object) const {
  throw out_of_memory(
      text("policy '", policy_.name(), "' on '", device_.name, "': cannot place ", format_bytes(object.bytes),
           " for ", object.tag, " (", to_string(object.cls), "); ", format_bytes(pool_.live_bytes()),
           " in the pool, budget ", format_bytes(state_.budget_bytes), ". The program holds up to ",
           format_bytes(needed_), " (", needed_, " bytes) at once, and this policy moves nothing"));
}

}  // namespace halocline::memory::sim

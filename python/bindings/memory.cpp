// SPDX-License-Identifier: Apache-2.0
// What an engine lets a program say about memory: options, budgets, plans.
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "bindings.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine_keys.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/ckks/recipes.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/memory/budget.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/policy/decision_file.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "halocline/memory/tier/link_speed.hpp"

namespace halocline::python {
namespace {

using memory::runtime_options;

void set_decisions(runtime_options& options, const std::string& text) {
  options.constants.decisions =
      std::make_shared<const std::vector<std::uint8_t>>(memory::decisions_from_text(text));
}

/// Names the components of an argument of a program, so that plans find them.
void name_input(bound_engine& engine, const bound_ciphertext& ct, std::uint64_t ordinal) {
  memory::runtime& runtime = engine.where->ctx->runtime();
  for (std::size_t i = 0; i < ct.value.parts.size(); ++i) {
    runtime.set_identity(ct.value.parts[i].data(), ckks::identity_of("input", ordinal, i));
  }
}

/// A plan for a trace of the engine's ghost, with the costs that the engine has measured. `steady`: for runs
/// that follow each other.
memory::plan::plan make_plan(const bound_engine& engine, const memory::trace& recorded,
                             std::uint64_t capacity, const std::string& parameters, bool steady,
                             bool regenerate, bool prefixes) {
  const released meanwhile;
  memory::plan::planner_options options;
  {
    engine.where->check();
    const std::scoped_lock lock(engine.where->mutex);
    engine.value->calibrate();
    options = engine.where->ctx->runtime().planning(capacity);
  }
  options.parameters = parameters;
  options.steady = steady;
  options.allow_expand = options.allow_encode = regenerate;
  options.allow_truncate = prefixes;
  options.allow_resize = options.allow_resize && prefixes;
  return memory::plan::make_plan(memory::plan::make_program(recorded, options.costs), options);
}

/// Rotations of this thread follow routes from now on; without routes, they no longer do.
void set_routes(bound_engine& engine, const ckks::key_routes& routes) {
  locked(*engine.where, [&] {
    engine.value->evaluator().set_routes(routes);
    engine.where->routed = routes.empty() ? std::thread::id{} : std::this_thread::get_id();
  });
}

/// Counts the operations of this thread from now on; ends that and says how many there were.
void watch(bound_engine& engine) {
  locked(*engine.where, [&] {
    engine.where->watched = std::this_thread::get_id();
    engine.where->watched_operations = 0;
  });
}

std::uint64_t end_watch(bound_engine& engine) {
  return locked(*engine.where, [&] {
    engine.where->watched = {};
    return engine.where->watched_operations;
  });
}

/// False when the budget, which other threads may change at any time, is too small for the plan by now.
bool begin_plan(bound_engine& engine, const memory::plan::plan& plan) {
  return locked(*engine.where, [&] {
    try {
      engine.where->ctx->runtime().begin_plan(std::make_shared<const memory::plan::plan>(plan));
      return true;
    } catch (const memory::plan::exceeds_budget&) {
      return false;
    }
  });
}

std::tuple<std::size_t, bool, std::string> end_plan(bound_engine& engine) {
  const memory::plan_outcome outcome =
      locked(*engine.where, [&] { return engine.where->ctx->runtime().end_plan(); });
  return {outcome.steps_followed, outcome.diverged, outcome.reason};
}

/// Galois element -> (key switches, of those lone rotations).
using use_rows = std::map<std::uint64_t, std::tuple<std::uint64_t, std::uint64_t>>;

use_rows take_key_uses(bound_engine& ghost) {
  use_rows rows;
  for (const auto& [element, use] : locked(*ghost.where, [&] { return ghost.value->take_key_uses(); })) {
    rows.emplace(element, std::make_tuple(use.switches, use.rotations));
  }
  return rows;
}

/// Routes among the keys that the engine has.
ckks::key_routes suggest_routes(bound_engine& engine, const use_rows& uses, double switch_ns,
                                double load_ns) {
  std::map<std::uint64_t, ckks::key_use> counted;
  for (const ckks::key_request& key : locked(*engine.where, [&] { return engine.value->keys().list(); })) {
    const auto row = uses.find(key.galois_element);
    if (row == uses.end()) continue;
    counted[key.galois_element] = {std::get<0>(row->second), std::get<1>(row->second), key.level};
  }
  return ckks::suggest_routes(engine.value->parameters(), counted, {switch_ns, load_ns});
}

nb::dict movement(const bound_engine& engine) {
  const memory::movement m = engine.where->ctx->runtime().statistics().moved;
  const memory::store_stats link = engine.where->ctx->runtime().slow_statistics();
  nb::dict out;
  out["loads"] = m.loads;
  out["loaded_bytes"] = m.loaded_bytes;
  out["written_bytes"] = m.written_bytes;
  out["populated_bytes"] = m.populated_bytes;
  out["expanded_bytes"] = m.expanded_bytes;
  out["encoded_bytes"] = m.encoded_bytes;
  out["evictions"] = m.evictions;
  out["prefetches"] = m.prefetches;
  out["divergences"] = m.divergences;
  out["stall_seconds"] = static_cast<double>(m.stall_ns) * 1e-9;
  out["regenerate_seconds"] = static_cast<double>(m.regenerate_ns) * 1e-9;
  out["read_busy_seconds"] = static_cast<double>(link.read_busy_ns) * 1e-9;
  out["write_busy_seconds"] = static_cast<double>(link.written_busy_ns) * 1e-9;
  return out;
}

/// Counters of each link, nearest tier first.
nb::list link_statistics(const bound_engine& engine) {
  nb::list rows;
  for (const memory::link_stats& each : engine.where->ctx->runtime().link_statistics()) {
    nb::dict row;
    row["name"] = each.name;
    row["capacity_bytes"] = each.capacity_bytes;
    row["held_bytes"] = each.held_bytes;
    row["requests"] = each.requests;
    row["reads"] = each.reads;
    row["read_bytes"] = each.read_bytes;
    row["writes"] = each.writes;
    row["written_bytes"] = each.written_bytes;
    row["busy_seconds"] = static_cast<double>(each.read_busy_ns) * 1e-9;
    rows.append(row);
  }
  return rows;
}

/// Bytes of one key by the places that they are in.
struct key_bytes {
  std::uint64_t all = 0, fast = 0, made = 0;
  std::map<std::string, std::uint64_t> copies;

  /// Counts one buffer of a held key.
  void add(std::size_t bytes, std::uint64_t identity, const memory::plan::planner_options& now,
           const std::vector<std::string>& tiers) {
    all += bytes;
    if (const auto found = now.resident.find(identity); found != now.resident.end()) fast += found->second;
    if (now.made.contains(identity)) made += bytes;
    const auto remote = now.remote.find(identity);
    if (remote == now.remote.end()) return;
    for (std::size_t i = 0; i < remote->second.copies.size(); ++i) {
      copies[tiers[i]] += std::min<std::uint64_t>(bytes, remote->second.copies[i]);
    }
    copies[tiers.back()] += bytes;
  }
  [[nodiscard]] nb::dict row(std::uint64_t element, const std::vector<std::string>& tiers) const {
    nb::dict result, held;
    for (const std::string& tier : tiers) {
      if (const auto found = copies.find(tier); found != copies.end()) held[tier.c_str()] = found->second;
    }
    result["element"] = element;
    result["nbytes"] = all;
    result["fast_bytes"] = fast;
    result["copies"] = held;
    result["made_bytes"] = made;
    return result;
  }
};

/// Where the contents of each key are. A key that a store has and the engine has not is remote.
nb::list key_places(bound_engine& engine) {
  std::vector<std::string> tiers;
  std::map<std::uint64_t, key_bytes> keys;
  locked(*engine.where, [&] {
    memory::runtime& runtime = engine.where->ctx->runtime();
    const auto* const held = dynamic_cast<const ckks::engine_keys*>(&engine.value->keys());
    if (held == nullptr) return;  // a ghost
    for (const memory::link_stats& each : runtime.link_statistics()) tiers.push_back(each.name);
    if (tiers.empty()) tiers.emplace_back("remote");
    const memory::plan::planner_options now = runtime.planning(runtime.budget_bytes());
    for (const ckks::key_request& each : held->list()) {
      const auto found = held->held().keys().find(each.galois_element);
      key_bytes& sums = keys[each.galois_element];
      if (found == held->held().keys().end()) {
        for (const auto& digit : ckks::key_layout(engine.value->parameters(), each)) {
          sums.all += 2 * digit.limbs() * engine.value->parameters().limb_bytes();
        }
        sums.copies[tiers.back()] = sums.all;
        continue;
      }
      const std::vector<ckks::evaluation_key_digit>& digits = found->second.digits;
      for (std::size_t j = 0; j < digits.size(); ++j) {
        sums.add(digits[j].b.size(), ckks::identity_of("evaluation_key.b", each.galois_element, j), now,
                 tiers);
        if (!digits[j].a) continue;
        sums.add(digits[j].a.size(), ckks::identity_of("evaluation_key.a", each.galois_element, j), now,
                 tiers);
      }
      if (!runtime.moves()) sums.fast = sums.all;
    }
  });
  nb::list rows;
  for (const auto& [element, sums] : keys) rows.append(sums.row(element, tiers));
  return rows;
}

/// A file of the slow tier in a folder (empty: the default), and how fast it is.
nb::dict measure_file_tier(const std::string& folder) {
  std::string description;
  memory::link_speed speed;
  {
    const released meanwhile;
    memory::file_store_options options;
    options.folder = folder;
    const auto store = memory::make_file_store(options);
    description = store->describe();
    speed = memory::measure_link(*store, std::size_t{32} << 20, std::chrono::milliseconds(200));
  }
  nb::dict out;
  out["description"] = description;
  out["read_bytes_per_second"] = speed.read_bytes_per_second;
  out["write_bytes_per_second"] = speed.write_bytes_per_second;
  out["read_latency_ns"] = speed.read_latency_ns;
  out["write_latency_ns"] = speed.write_latency_ns;
  return out;
}

/// Lets the main thread handle signals, such as Ctrl-C, while it waits for memory. Others handle none, so
/// they never ask for the interpreter lock here: they hold the lock of a domain, for which a thread with the
/// interpreter lock may wait, and Python ends them where they ask for it after the interpreter has ended.
void check_signals() {
  if (::gettid() != ::getpid()) {
    // Their stack unwinds as after any error, so that the objects of the domain can be freed.
    HALOCLINE_EXPECTS(!is_finalizing(), cancelled, "waiting for memory: the interpreter has ended");
    return;
  }
  call_python([] {
    const nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  });
}

void bind_budget(nb::module_& module) {
  memory::memory_budget::set_interruption(check_signals);
  nb::class_<memory::memory_budget>(module, "MemoryBudget")
      .def(
          "__init__",
          [](memory::memory_budget* self, std::size_t capacity, double wait_seconds) {
            new (self) memory::memory_budget(
                capacity, std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * wait_seconds)));
          },
          nb::arg("capacity"), nb::arg("wait_seconds") = 0.0)
      .def("holders",
           [](const memory::memory_budget& self) {
             std::vector<std::tuple<std::string, std::size_t>> rows;
             for (const memory::memory_budget::holding& each : self.others())
               rows.emplace_back(each.name, each.bytes);
             return rows;
           })
      .def_prop_ro("capacity", &memory::memory_budget::capacity)
      .def_prop_ro("used", &memory::memory_budget::used)
      .def_prop_ro("peak", &memory::memory_budget::peak);
}

void bind_options(nb::module_& module) {
  bind_budget(module);
  nb::class_<runtime_options>(module, "MemoryOptions")
      .def(nb::init<>())
      .def_rw("owner", &runtime_options::owner)
      .def_rw("shared_budget", &runtime_options::shared_budget, nb::arg("value").none())
      .def_rw("tier_folder", &runtime_options::tier_folder)
      .def_rw("tier_limit_bytes", &runtime_options::tier_limit_bytes)
      .def_rw("tier_memory_bytes", &runtime_options::tier_memory_bytes)
      .def_rw("remote_requests", &runtime_options::remote_requests)
      .def_rw("remote_bytes_per_second", &runtime_options::remote_bytes_per_second)
      .def_rw("remote_latency_seconds", &runtime_options::remote_latency_seconds)
      .def_rw("keep_sources", &runtime_options::keep_sources)
      .def_rw("blocking_copies", &runtime_options::blocking_copies)
      .def_rw("pinned_bytes", &runtime_options::pinned_bytes)
      .def_rw("cache_bytes", &runtime_options::cache_bytes)
      .def_rw("managed_cap_bytes", &runtime_options::managed_cap_bytes)
      .def_rw("managed_pool", &runtime_options::managed_pool)
      .def_rw("oversubscribe_managed", &runtime_options::oversubscribe_managed)
      .def_prop_rw(
          "history_length", [](const runtime_options& o) { return o.constants.history_length; },
          [](runtime_options& o, std::size_t n) { o.constants.history_length = n; })
      .def_prop_rw(
          "history_needed", [](const runtime_options& o) { return o.constants.history_needed; },
          [](runtime_options& o, std::size_t n) { o.constants.history_needed = n; })
      .def_prop_rw(
          "range_limit", [](const runtime_options& o) { return o.constants.range_limit; },
          [](runtime_options& o, std::uint64_t n) { o.constants.range_limit = n; })
      .def("set_decisions", set_decisions, nb::arg("text"));
}

}  // namespace

void bind_memory(nb::module_& module) {
  auto engine = nb::borrow<nb::class_<bound_engine>>(module.attr("Engine"));
  engine.def("name_input", name_input, nb::arg("ciphertext"), nb::arg("ordinal"))
      .def("make_plan", make_plan, nb::arg("trace"), nb::arg("capacity"), nb::arg("parameters"),
           nb::arg("steady") = false, nb::arg("regenerate") = true, nb::arg("prefixes") = true)
      .def("begin_plan", begin_plan, nb::arg("plan"))
      .def("end_plan", end_plan)
      .def("calibrate", [](bound_engine& self) { locked(*self.where, [&] { self.value->calibrate(); }); })
      .def("take_key_uses", take_key_uses)
      .def("suggest_routes", suggest_routes, nb::arg("uses"), nb::arg("switch_ns"), nb::arg("load_ns"))
      .def("set_routes", set_routes, nb::arg("routes"))
      .def("watch", watch)
      .def("end_watch", end_watch)
      .def("movement", movement)
      .def("link_statistics", link_statistics)
      .def("key_places", key_places)
      .def_prop_ro("budget_bytes",
                   [](const bound_engine& self) { return self.where->ctx->runtime().budget_bytes(); })
      .def_prop_ro("moves", [](const bound_engine& self) { return self.where->ctx->runtime().moves(); })
      .def(
          "set_budget",
          [](bound_engine& self, std::size_t bytes) {
            locked(*self.where, [&] { self.where->ctx->runtime().set_budget(bytes); });
          },
          nb::arg("bytes"))
      .def("cancel", [](const bound_engine& self) { self.where->ctx->runtime().cancel(); });
}

void bind_memory_options(nb::module_& module) {
  bind_options(module);
  module.def("measure_file_tier", measure_file_tier, nb::arg("folder"));
}

}  // namespace halocline::python

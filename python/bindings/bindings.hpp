// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "halocline/circuits/transform_plan.hpp"
#include "halocline/ckks/client.hpp"
#include "halocline/ckks/engine.hpp"
#include "threads.hpp"

/// What the areas of the extension module share. The module is the lower half of the package: it converts
/// values, releases the interpreter lock and keeps contexts alive; checks of Python types, defaults and
/// documentation for users are in python/halocline.
namespace halocline::python {

namespace nb = nanobind;

/// The domain of objects that were read from bytes and belong to no client or engine yet. One per parameter
/// set, shared while in use.
[[nodiscard]] std::shared_ptr<domain> shared_domain(const params::parameters& parameters);

/// A member of this type says that its class cannot be copied, which a vector of move-only elements hides.
struct move_only {
  move_only() = default;
  move_only(move_only&&) = default;
  move_only& operator=(move_only&&) = default;
};

// Members that hold buffers come after `where`, so that they are destroyed before it.

struct bound_ciphertext {
  std::shared_ptr<domain> where;
  ckks::ciphertext value;
  move_only mark{};
};

struct bound_keys {
  std::shared_ptr<domain> where;
  ckks::memory_key_set value;
  move_only mark{};
};

struct bound_public_key {
  std::shared_ptr<domain> where;
  std::shared_ptr<const ckks::public_key> value;
};

struct bound_client {
  std::shared_ptr<domain> where;
  owned<ckks::client> value;
  std::shared_ptr<domain> home{};  ///< where its evaluation keys are kept, one after the other
};

struct bound_engine {
  std::shared_ptr<domain> where;
  owned<ckks::engine> value;
};

/// Where a client keeps the keys that it has made: in its own memory, or, where that is a device's or has a
/// budget, in the shared domain of host memory.
[[nodiscard]] std::shared_ptr<domain> home_of_keys(const std::shared_ptr<domain>& where,
                                                   const params::parameters& p,
                                                   const ckks::client_options& options);

/// The evaluator as this thread has set it up. The caller holds the engine's domain.
[[nodiscard]] inline ckks::evaluator& evaluator_here(bound_engine& engine) {
  domain& where = *engine.where;
  ckks::evaluator& result = engine.value->evaluator();
  const std::thread::id here = std::this_thread::get_id();
  result.set_mode(where.manual.contains(here) ? ckks::maintenance::manual : ckks::maintenance::automatic);
  result.follow_routes(where.routed == here);
  if (where.watched == here) ++where.watched_operations;
  return result;
}

/// Runs `body(evaluator)` on an engine and binds its result to the engine's domain.
template <typename BodyT>
bound_ciphertext evaluate(bound_engine& engine, BodyT body) {
  return locked(*engine.where, [&] { return bound_ciphertext{engine.where, body(evaluator_here(engine))}; });
}

/// The same for a vector of results.
template <typename BodyT>
std::vector<bound_ciphertext> evaluate_many(bound_engine& engine, BodyT body) {
  return locked(*engine.where, [&] {
    std::vector<bound_ciphertext> results;
    for (ckks::ciphertext& each : body(evaluator_here(engine)))
      results.push_back({engine.where, std::move(each)});
    return results;
  });
}

[[nodiscard]] inline std::vector<const ckks::ciphertext*> pointers_to(
    const std::vector<const bound_ciphertext*>& operands) {
  std::vector<const ckks::ciphertext*> pointers;
  for (const bound_ciphertext* each : operands) pointers.push_back(&each->value);
  return pointers;
}

using complex_values = std::vector<std::complex<double>>;
using complex_array = nb::ndarray<const std::complex<double>, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

[[nodiscard]] inline std::span<const std::complex<double>> span_of(const complex_array& values) {
  return {values.data(), values.size()};
}

/// A numpy array that owns the elements of a vector.
template <typename ValueT>
[[nodiscard]] nb::ndarray<nb::numpy, ValueT, nb::ndim<1>> to_numpy(std::vector<ValueT> values) {
  auto* kept = new std::vector<ValueT>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<ValueT>*>(p); });
  return {kept->data(), {kept->size()}, owner};
}

/// An option that is 0 in Python where it is to be chosen.
template <typename ValueT>
[[nodiscard]] std::optional<ValueT> unless_zero(ValueT value) {
  return value == ValueT{} ? std::nullopt : std::optional(value);
}

/// Options of memory with what Python states beside them.
[[nodiscard]] inline memory::runtime_options with_budget(memory::runtime_options memory,
                                                         std::size_t budget_bytes,
                                                         const std::string& policy) {
  memory.budget_bytes = budget_bytes;
  memory.policy = policy;
  return memory;
}

/// The text of an identifier, or None.
[[nodiscard]] inline std::optional<std::string> known(const ckks::key_id& id) {
  return id.is_known() ? std::optional(to_string(id)) : std::nullopt;
}

/// The mode of linear transforms that has this name.
[[nodiscard]] circuits::transform_mode transform_mode_of(const std::string& name);

// One function per file of this folder.
void bind_params(nb::module_& module);
void bind_keys(nb::module_& module);
void bind_client(nb::module_& module);
void bind_memory_options(nb::module_& module);
void bind_plan(nb::module_& module);
void bind_engine(nb::module_& module);
void bind_memory(nb::module_& module);
void bind_bench(nb::module_& module);
void bind_device(nb::module_& module);
void bind_plaintext(nb::module_& module);
void bind_trace(nb::module_& module);
void bind_sim(nb::module_& module);
void bind_files(nb::module_& module);
void bind_io(nb::module_& module);
void bind_storage(nb::module_& module);
void bind_circuits(nb::module_& module);
void bind_bootstrap(nb::module_& module);
void bind_profile(nb::module_& module);
void bind_retrieval(nb::module_& module);
void bind_seal(nb::module_& module);

}  // namespace halocline::python

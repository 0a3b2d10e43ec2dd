// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "halocline/ring/context.hpp"
#include "halocline/rns/base_convert.hpp"

namespace halocline::ckks {

class client_tables;

/// Everything that CKKS operations of one engine or client share: parameters, backend, tables. Create one per
/// engine or client with `make_context`; objects made with it must be used with it. Not thread-safe.
class context {
 public:
  context(params::parameters parameters, std::shared_ptr<backend::backend> device,
          ring::transform_tables transforms = ring::transform_tables::now)
      : parameters_(std::move(parameters)),
        ring_(ring::shape_of(parameters_), std::move(device), transforms, parameters_),
        converter_(ring_),
        cache_bytes_(ring_.device().describe().cache_bytes) {}
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// What operations work with: parameters, ring, base conversions; the backend, its runtime and tables.
  [[nodiscard]] const params::parameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] ring::context& ring() noexcept { return ring_; }
  [[nodiscard]] rns::base_converter& converter() noexcept { return converter_; }
  [[nodiscard]] backend::backend& device() const noexcept { return ring_.device(); }
  [[nodiscard]] memory::runtime& runtime() const noexcept { return ring_.runtime(); }
  [[nodiscard]] const backend::ring_tables& tables() const noexcept { return ring_.tables(); }
  /// Tables for encoding, sampling and decoding.
  [[nodiscard]] ckks::client_tables& client_tables();

  /// Bytes of cache to which large operations are blocked; 0: no blocking. The default is that of the
  /// backend's capability. It changes the sequence of steps, never the integers; a ghost of a device must
  /// have that device's value.
  [[nodiscard]] std::size_t cache_bytes() const noexcept { return cache_bytes_; }
  void set_cache_bytes(std::size_t bytes) noexcept { cache_bytes_ = bytes; }
  /// Budget by which it is decided how many keys a call takes (see `key_products`), in bytes; 0: unlimited.
  /// It is that of the runtime, unless another one is set: a ghost must have that of the engine that it
  /// stands for, and an engine that follows a plan the one that the plan was made for.
  [[nodiscard]] std::size_t joining_budget() const noexcept {
    return joining_budget_.value_or(runtime().budget_bytes());
  }
  void set_joining_budget(std::optional<std::size_t> bytes) noexcept { joining_budget_ = bytes; }

 private:
  params::parameters parameters_;
  ring::context ring_;
  rns::base_converter converter_;
  std::shared_ptr<ckks::client_tables> client_;  ///< made at first use
  std::size_t cache_bytes_;
  std::optional<std::size_t> joining_budget_;
};

/// A context of `parameters` on `device`, which belongs to this context alone. Objects can be read, written,
/// copied and expanded from seeds before `context::ring().prepare_transforms()`, and nothing else.
/// @throws out_of_memory when the tables exceed the budget
[[nodiscard]] inline std::shared_ptr<context> make_context(
    params::parameters parameters, std::shared_ptr<backend::backend> device,
    ring::transform_tables transforms = ring::transform_tables::now) {
  return std::make_shared<context>(std::move(parameters), std::move(device), transforms);
}

}  // namespace halocline::ckks

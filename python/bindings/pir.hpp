// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "halocline/backend/backend.hpp"
#include "halocline/pir/records.hpp"

/// What the areas of private retrieval share.
namespace halocline::python {

/// The backend of a client or server of private retrieval, and its lock. Everything that holds buffers of the
/// backend holds it.
struct retrieval_site : guarded_place {
  explicit retrieval_site(std::shared_ptr<backend::backend> d) : guarded_place(d), device(std::move(d)) {}

  std::shared_ptr<backend::backend> device;
};

/// Records of a database, in memory or in a file.
struct bound_records {
  std::shared_ptr<pir::record_store> value;
};

/// Bytes in bulk: numpy arrays of uint8, which Python makes of whatever it was given.
using byte_array = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

[[nodiscard]] inline std::span<const std::byte> span_of(const nb::bytes& bytes) {
  return std::as_bytes(std::span(bytes.c_str(), bytes.size()));
}
[[nodiscard]] inline std::span<const std::byte> span_of(const byte_array& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}
[[nodiscard]] inline nb::bytes to_bytes(std::span<const std::byte> bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}
/// An identifier or fingerprint.
[[nodiscard]] inline nb::bytes to_bytes(const std::array<std::uint8_t, 16>& name) {
  return nb::bytes(name.data(), name.size());
}
/// Calls back with numbers that are done and in all; holds the interpreter lock meanwhile.
[[nodiscard]] std::function<void(std::uint64_t, std::uint64_t)> progress_of(const nb::object& call);

void bind_retrieval_messages(nb::module_& module);
void bind_retrieval_records(nb::module_& module);
void bind_retrieval_parties(nb::module_& module);
void bind_keyword_tables(nb::module_& module);

}  // namespace halocline::python

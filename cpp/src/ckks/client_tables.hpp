// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "halocline/ckks/context.hpp"

namespace halocline::ckks {

/// Tables of the client's operations, which are encoding, sampling and decoding. Each is made at its first
/// use and kept.
class client_tables {
 public:
  explicit client_tables(context& ctx) : ctx_(ctx) {}

  /// For transforms of so many slots (`backend::slot_job::table`).
  [[nodiscard]] const memory::buffer& slots(std::uint32_t slots);
  /// For lifts of residues modulo `primes` (`backend::lift_job::table`); nullptr for a single prime.
  [[nodiscard]] const memory::buffer* lift(arith::window primes);
  /// The parameters' error distribution (`backend::small_job::table`).
  [[nodiscard]] const memory::buffer& error();

 private:
  using maker = std::function<std::vector<std::byte>()>;
  /// A table with the bytes that `contents` returns; it may be called again later.
  [[nodiscard]] memory::buffer upload(maker contents, const char* tag) const;

  context& ctx_;
  std::map<std::uint32_t, memory::buffer> slots_;
  std::map<std::uint64_t, memory::buffer> lifts_;
  memory::buffer error_;
};

}  // namespace halocline::ckks

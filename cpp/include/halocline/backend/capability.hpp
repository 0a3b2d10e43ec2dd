// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace halocline::backend {

/// The ring-level operations of operations.inc, in its order, and the two copies.
enum class op_kind : std::uint8_t {
#define HALOCLINE_OPERATION(NAME, JOB) NAME,
#include "halocline/backend/operations.inc"
  upload,
  download,
};

/// Number of values of `op_kind`.
inline constexpr std::size_t op_kind_count = static_cast<std::size_t>(op_kind::download) + 1;

/// A set of operations.
class op_set {
 public:
  /// The set of `all`, in any order.
  constexpr op_set(std::initializer_list<op_kind> all = {}) noexcept {
    for (const op_kind op : all) insert(op);
  }
  /// All operations there are.
  [[nodiscard]] static constexpr op_set everything() noexcept {
    op_set made;
    for (std::size_t op = 0; op < op_kind_count; ++op) made.insert(static_cast<op_kind>(op));
    return made;
  }
  constexpr void insert(op_kind op) noexcept { bits_ |= bit(op); }
  constexpr void erase(op_kind op) noexcept { bits_ &= ~bit(op); }
  [[nodiscard]] constexpr bool contains(op_kind op) const noexcept { return (bits_ & bit(op)) != 0; }
  bool operator==(const op_set&) const = default;

 private:
  static_assert(op_kind_count <= 64);
  static constexpr std::uint64_t bit(op_kind op) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(op);
  }
  std::uint64_t bits_ = 0;
};

/// Name of an operation as in the interface and in traces.
[[nodiscard]] std::string_view to_string(op_kind op) noexcept;

/// What a backend runs on.
struct capability {
  std::string device;  ///< readable: "CPU (AVX3), 2 threads"
  std::string simd;    ///< instruction set chosen at run time, empty where meaningless
  unsigned threads = 1;
  std::size_t memory_bytes = 0;  ///< physical size of the fast tier
  /// Cache shared by all units, where operations gain from finding their operands in it; 0 otherwise.
  std::size_t cache_bytes = 0;
  /// Blocks of point matrices (`point_matrix::block`) with which private retrieval is fastest: 32 or 1.
  std::uint32_t point_block = 32;
};

}  // namespace halocline::backend

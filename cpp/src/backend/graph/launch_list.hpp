// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace halocline::backend::graph {

/// Size of a grid or block.
struct extent {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  bool operator==(const extent&) const = default;
};

/// One kernel launch; its parameters are one plain block of bytes.
struct launch {
  std::string_view op;  ///< ring-level operation; its text outlives the list
  const char* name;     ///< kernel; a string literal
  const void* function;
  extent grid;
  extent block;
  std::size_t shared_bytes;
  std::size_t params_bytes;
};

/// Launches in order, each with a copy of its parameters.
class launch_list {
 public:
  /// Appends a launch and copies `each.params_bytes` bytes of parameters.
  void add(const launch& each, const void* params);
  void clear() noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] const launch& at(std::size_t i) const noexcept { return entries_[i].what; }
  /// The parameters of launch `i`, aligned to 16 bytes.
  [[nodiscard]] const void* params(std::size_t i) const noexcept {
    return blocks_.data() + entries_[i].begin;
  }
  /// Bytes of parameters.
  [[nodiscard]] std::size_t bytes() const noexcept { return blocks_.size() * sizeof(unit); }

  /// Number that lists of the same shape share: kernels, grids and sizes, but no parameters.
  [[nodiscard]] std::uint64_t shape_hash() const noexcept { return hash_; }
  [[nodiscard]] bool same_shape(const launch_list& other) const noexcept;
  /// Whether launch `i`, of the same shape in both lists, has the same parameters.
  [[nodiscard]] bool same_params(const launch_list& other, std::size_t i) const noexcept;
  /// Launches of a list of the same shape that have other parameters, ascending.
  [[nodiscard]] std::vector<std::size_t> changes(const launch_list& other) const;
  /// Number that lists with the same parameters share.
  [[nodiscard]] std::uint64_t params_hash() const noexcept;

 private:
  struct alignas(16) unit {
    std::byte bytes[16];
  };

  struct entry {
    launch what;
    std::size_t begin;  ///< of the parameters in `blocks_`
  };

  std::vector<entry> entries_;
  std::vector<unit> blocks_;
  std::uint64_t hash_ = 0;
};

/// Combines two hashes; the order matters.
[[nodiscard]] std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept;

}  // namespace halocline::backend::graph

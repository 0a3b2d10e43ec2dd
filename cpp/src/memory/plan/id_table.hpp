// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace halocline::memory::plan {

/// Hash table from buffer ids to consecutive numbers, with open addressing: a trace has millions of rows, and
/// std::unordered_map would take most of the time of reading one.
class id_table {
 public:
  static constexpr std::uint32_t absent = ~std::uint32_t{0};

  id_table() : slots_(1024) {}

  /// Number stored for an id, or `absent`.
  [[nodiscard]] std::uint32_t find(std::uint64_t id) const noexcept {
    for (std::size_t at = place(id);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].number == absent || slots_[at].id == id) return slots_[at].number;
    }
  }

  /// Stores a number for an id that is not there yet.
  void insert(std::uint64_t id, std::uint32_t number) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    ++count_;
    put({id, number});
  }

 private:
  struct slot {
    std::uint64_t id = 0;
    std::uint32_t number = absent;
  };

  [[nodiscard]] std::size_t place(std::uint64_t id) const noexcept {
    return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15U) >> 20) & (slots_.size() - 1);
  }
  void put(const slot& each) noexcept {
    std::size_t at = place(each.id);
    while (slots_[at].number != absent) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = each;
  }
  void grow() {
    std::vector<slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const slot& each : old) {
      if (each.number != absent) put(each);
    }
  }

  std::vector<slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace halocline::memory::plan

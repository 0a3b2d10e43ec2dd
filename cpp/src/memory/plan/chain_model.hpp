// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "halocline/memory/plan/planner.hpp"

namespace halocline::memory::plan {

/// Which tier each load of a plan takes its bytes from, and which copies it leaves: the rules of
/// `make_chain_store` on paper, without the bytes that are written back.
class chain_model {
 public:
  chain_model(const program& source, const planner_options& options);

  /// Number of the link that a load of the pages [begin, end) of an object uses; its copies follow.
  [[nodiscard]] std::size_t load(object_index target, std::uint32_t begin, std::uint32_t end);
  /// Pages of an object that only the last link has when the program begins.
  [[nodiscard]] bool is_far(object_index target, std::uint32_t pages) const;

 private:
  struct copy {
    std::uint32_t pages = 0;
    std::list<object_index>::iterator order{};
  };
  struct shelf {
    std::uint64_t capacity = 0;  ///< pages; 0: no limit
    std::uint64_t used = 0;
    std::list<object_index> order;  ///< least recently used first
    std::vector<copy> copies;       ///< per object
  };
  void put(std::size_t shelf_number, object_index target, std::uint32_t pages);
  void drop(shelf& from, object_index target);
  void touch(shelf& on, object_index target);

  std::vector<shelf> shelves_;  ///< of all links but the last
  std::vector<std::uint8_t> is_remote_;
  bool extends_;  ///< the nearest tier is memory, where a prefix that is there becomes longer
};

}  // namespace halocline::memory::plan

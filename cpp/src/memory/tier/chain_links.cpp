// SPDX-License-Identifier: Apache-2.0
// What a chain of tiers has moved, and where the contents of its slots are.
#include <algorithm>

#include "halocline/core/expects.hpp"
#include "memory/tier/chain_store.hpp"

namespace halocline::memory {

std::vector<std::uint64_t> chain_store::copies_of(slot_id id) const {
  const auto found = slots_.find(id);
  HALOCLINE_EXPECTS(found != slots_.end(), invalid_argument, name(), " tier: no slot ", id);
  const slot& of = found->second;
  const std::size_t staged = of.held.is_staged ? of.held.bytes : 0;  // on its way to the file
  std::vector<std::uint64_t> result;
  if (has_memory()) result.push_back(of.held.bytes - staged);
  if (options_.file) result.push_back(std::max(of.below_bytes, staged));
  return result;
}

store_stats chain_store::statistics() const {
  store_stats result = options_.file ? options_.file->statistics() : store_stats{};
  link_stats memory;
  copies_in_memory_.report(memory);
  result.reads += memory.reads;
  result.read_bytes += memory.read_bytes;
  result.read_busy_ns += memory.read_busy_ns;
  result.writes += stats_.writes;
  result.written_bytes += stats_.written_bytes;
  result.slots = stats_.slots;
  result.slot_bytes = stats_.slot_bytes;
  return result;
}

std::vector<link_stats> chain_store::links() const {
  std::vector<link_stats> list;
  if (has_memory()) {
    link_stats& memory = list.emplace_back();
    memory.name = "memory";
    memory.capacity_bytes = options_.memory_bytes;
    memory.held_bytes = memory_used_;
    memory.writes = stats_.writes;
    memory.written_bytes = stats_.written_bytes;
    copies_in_memory_.report(memory);
  }
  if (options_.file) list.push_back(options_.file->links().front());
  link_stats& remote = list.emplace_back();
  remote.name = "remote";
  remote_.report(remote);
  return list;
}

}  // namespace halocline::memory

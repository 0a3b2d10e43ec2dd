// SPDX-License-Identifier: Apache-2.0
// What a chain of tiers has moved, and where the contents of its slots are.
#include <algorithm>

#include "halocline/core/expects.hpp"
#include "memory/tier/chain_store.hpp"

namespace halocline::memory {

std::size_t chain_store::place_of(slot_id id, std::size_t bytes) const {
  const auto found = slots_.find(id);
  HALOCLINE_EXPECTS(found != slots_.end(), invalid_argument, name(), " tier: no slot ", id);
  const std::size_t memory = has_memory() ? 1 : 0, file = options_.file ? 1 : 0;
  const slot& of = found->second;
  if (has_memory() && of.held.bytes >= bytes) return 0;
  // Without a tier in memory a copy there is on its way to the file.
  if (std::max(of.held.bytes, of.below_bytes) >= bytes || !of.remote) return memory;
  return memory + file;
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

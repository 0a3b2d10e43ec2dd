// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/store.hpp"

#include "halocline/core/expects.hpp"

namespace halocline::memory {

slot_id store::adopt(std::shared_ptr<const remote_contents> contents, std::size_t bytes) {
  (void)contents, (void)bytes;
  throw invalid_argument(text("a tier in ", name(), " cannot read remote contents; use a chain of tiers"));
}

void store::fetch(slot_id slot, std::size_t bytes) { (void)slot, (void)bytes; }

void store::forget_copies(slot_id slot) { (void)slot; }

std::vector<link_stats> store::links() const {
  const store_stats moved = statistics();
  link_stats only;
  only.name = name();
  only.held_bytes = moved.slot_bytes;
  only.reads = moved.reads;
  only.read_bytes = moved.read_bytes;
  only.writes = moved.writes;
  only.written_bytes = moved.written_bytes;
  only.read_busy_ns = moved.read_busy_ns;
  return {only};
}

}  // namespace halocline::memory

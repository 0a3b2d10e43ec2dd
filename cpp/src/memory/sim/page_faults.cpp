// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/sim/page_faults.hpp"

#include <algorithm>
#include <tuple>

#include "halocline/core/expects.hpp"

namespace halocline::memory::sim {
namespace {

constexpr double mib = 1 << 20;
/// Blocks that may live at once: 2 TiB in blocks of 2 MiB, some 50 MiB of state.
constexpr std::uint64_t max_blocks = std::uint64_t{1} << 20;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

fault_work& fault_work::operator+=(const fault_work& other) noexcept {
  faults += other.faults;
  batches += other.batches;
  migrated_bytes += other.migrated_bytes;
  populated_bytes += other.populated_bytes;
  evicted_bytes += other.evicted_bytes;
  dropped_bytes += other.dropped_bytes;
  remote_bytes += other.remote_bytes;
  return *this;
}

double service_us(const fault_work& work, const device_model& device) noexcept {
  const auto mibs = [](std::uint64_t bytes) { return static_cast<double>(bytes) / mib; };
  const auto copy = [](std::uint64_t bytes, double rate) { return static_cast<double>(bytes) / rate * 1e6; };
  return static_cast<double>(work.batches) * device.fault_batch_us +
         mibs(work.migrated_bytes) * device.migrate_us_per_mib +
         copy(work.migrated_bytes, device.load_bytes_per_s) +
         mibs(work.populated_bytes) * device.populate_us_per_mib +
         mibs(work.evicted_bytes) * device.evict_us_per_mib +
         copy(work.evicted_bytes, device.store_bytes_per_s) +
         copy(work.remote_bytes, device.remote_bytes_per_s);
}

unified_memory::unified_memory(std::uint64_t capacity_bytes, std::uint64_t block_bytes,
                               std::uint64_t page_bytes, std::uint64_t fault_batch)
    : capacity_(capacity_bytes),
      block_bytes_(block_bytes),
      page_bytes_(page_bytes),
      fault_batch_(fault_batch) {
  HALOCLINE_EXPECTS(page_bytes > 0 && fault_batch > 0 && block_bytes >= page_bytes, invalid_argument,
                    "managed memory: blocks of ", block_bytes, " bytes with pages of ", page_bytes,
                    " bytes and batches of ", fault_batch, " faults");
}

void unified_memory::add(std::uint64_t object, std::uint64_t bytes, advice hint, bool on_host) {
  const auto [at, fresh] = objects_.try_emplace(object);
  HALOCLINE_EXPECTS(fresh, invalid_argument, "managed memory: object ", object, " is there already");
  const std::uint64_t blocks = bytes / block_bytes_ + (bytes % block_bytes_ != 0 ? 1 : 0);
  if (blocks > max_blocks - std::min(max_blocks, live_blocks_)) {
    objects_.erase(at);
    throw invalid_argument(text("managed memory: object ", object, " of ", bytes, " bytes brings more than ",
                                max_blocks, " blocks of ", block_bytes_,
                                " bytes to life; simulate another policy, or a device of larger blocks"));
  }
  live_blocks_ += blocks;
  entry& added = at->second;
  added.hint = hint;
  added.bytes = bytes;
  for (std::uint64_t begin = 0; begin < bytes; begin += block_bytes_) {
    const std::uint64_t size = std::min(block_bytes_, round_up(bytes - begin, page_bytes_));
    added.blocks.push_back({size, on_host ? place::host : place::nowhere, {}});
  }
  added.absent = added.blocks.size();
  live_ += bytes;
}

void unified_memory::remove(std::uint64_t object) {
  entry& gone = find(object);
  for (block& each : gone.blocks) {
    if (on_device(each)) leave(each);
  }
  live_ -= gone.bytes;
  live_blocks_ -= gone.blocks.size();
  objects_.erase(object);
}

fault_work unified_memory::touch(std::span<const managed_range> ranges) {
  fault_work work;
  if (std::none_of(ranges.begin(), ranges.end(), [&](const auto& each) { return needs_service(each); })) {
    return work;
  }
  join(ranges);
  visits_.clear();
  for (const auto& [range, turn] : joined_) {
    entry& touched = find(range.object);
    const double length = static_cast<double>(std::max<std::uint64_t>(range.end - range.begin, 1));
    for (std::uint64_t i = range.begin / block_bytes_; i < touched.blocks.size(); ++i) {
      const std::uint64_t start = std::max(i * block_bytes_, range.begin);
      if (start >= range.end) break;
      visits_.push_back({static_cast<double>(start - range.begin) / length, {&touched, i}, range.writes});
    }
  }
  std::stable_sort(visits_.begin(), visits_.end(),
                   [](const visit& a, const visit& b) { return a.when < b.when; });
  for (const visit& each : visits_) visit_block(each.at, each.writes, work);
  work.batches = (work.faults + fault_batch_ - 1) / fault_batch_;
  return work;
}

void unified_memory::join(std::span<const managed_range> ranges) {
  joined_.clear();
  for (const managed_range& each : ranges) joined_.push_back({each, joined_.size()});
  std::sort(joined_.begin(), joined_.end(), [](const joined_range& a, const joined_range& b) {
    return std::tuple(a.range.object, a.range.writes, a.range.begin, a.turn) <
           std::tuple(b.range.object, b.range.writes, b.range.begin, b.turn);
  });
  std::size_t kept = 0;
  for (const joined_range& each : joined_) {
    if (kept > 0) {
      joined_range& last = joined_[kept - 1];
      if (last.range.object == each.range.object && last.range.writes == each.range.writes &&
          each.range.begin < last.range.end) {
        last.range.end = std::max(last.range.end, each.range.end);
        last.turn = std::min(last.turn, each.turn);
        continue;
      }
    }
    joined_[kept++] = each;
  }
  joined_.resize(kept);
  std::sort(joined_.begin(), joined_.end(),
            [](const joined_range& a, const joined_range& b) { return a.turn < b.turn; });
}

std::uint64_t unified_memory::prefetch(std::uint64_t object) {
  entry& wanted = find(object);
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < wanted.blocks.size(); ++i) {
    const block& each = wanted.blocks[i];
    if (on_device(each) || each.where == place::nowhere || resident_ + each.bytes > capacity_) continue;
    fault_work ignored;
    bring_in({&wanted, i}, false, ignored);
    moved += each.bytes;
  }
  return moved;
}

fault_work unified_memory::set_capacity(std::uint64_t capacity_bytes) {
  fault_work work;
  capacity_ = capacity_bytes;
  make_room(0, work);
  return work;
}

unified_memory::entry& unified_memory::find(std::uint64_t object) {
  const auto found = objects_.find(object);
  HALOCLINE_EXPECTS(found != objects_.end(), invalid_argument, "managed memory: there is no object ", object);
  return found->second;
}

std::list<unified_memory::position>& unified_memory::order(const entry& of) noexcept {
  return of.hint == advice::preferred_device ? preferred_ : migrated_;
}

bool unified_memory::on_device(const block& of) noexcept {
  return of.where == place::device || of.where == place::both;
}

bool unified_memory::needs_service(const managed_range& range) {
  const entry& touched = find(range.object);
  return touched.absent > 0 || (range.writes && touched.hint == advice::read_mostly);
}

void unified_memory::visit_block(const position& at, bool writes, fault_work& work) {
  block& touched = at.owner->blocks[at.index];
  if (!on_device(touched)) {
    bring_in(at, writes, work);
  } else if (writes && touched.where == place::both) {
    touched.where = place::device;  // the copy on the host is no longer valid
    ++work.faults;
  }
}

void unified_memory::bring_in(const position& at, bool writes, fault_work& work) {
  block& wanted = at.owner->blocks[at.index];
  const bool exists = wanted.where != place::nowhere;
  work.faults += (wanted.bytes + page_bytes_ - 1) / page_bytes_;
  if (!make_room(wanted.bytes, work)) {
    work.remote_bytes += wanted.bytes;
    wanted.where = place::host;
    return;
  }
  (exists ? work.migrated_bytes : work.populated_bytes) += wanted.bytes;
  const bool keeps_copy = exists && !writes && at.owner->hint == advice::read_mostly;
  wanted.where = keeps_copy ? place::both : place::device;
  std::list<position>& turns = order(*at.owner);
  wanted.turn = turns.insert(turns.end(), at);
  resident_ += wanted.bytes;
  --at.owner->absent;
}

bool unified_memory::make_room(std::uint64_t bytes, fault_work& work) {
  if (bytes > capacity_) return false;
  while (resident_ + bytes > capacity_) {
    if (migrated_.empty() && preferred_.empty()) return false;
    evict(migrated_.empty() ? preferred_.front() : migrated_.front(), work);
  }
  return true;
}

void unified_memory::evict(const position& at, fault_work& work) {
  entry& owner = *at.owner;
  block& victim = owner.blocks[at.index];
  (victim.where == place::both ? work.dropped_bytes : work.evicted_bytes) += victim.bytes;
  order(owner).erase(victim.turn);
  victim.where = place::host;
  resident_ -= victim.bytes;
  ++owner.absent;
}

void unified_memory::leave(block& from) {
  resident_ -= from.bytes;
  order(*from.turn->owner).erase(from.turn);
}

}  // namespace halocline::memory::sim

// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/runtime.hpp"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "halocline/memory/policy/policy.hpp"
#include "halocline/memory/tier.hpp"
#include "memory/buffer_state.hpp"

namespace halocline::memory {
namespace {

constexpr std::uint64_t ghost_step_ns = 1000;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

std::byte* access::pointer(const buffer& data, std::size_t offset) const noexcept {
  return data.state_->data == nullptr ? nullptr : data.state_->data + offset;
}

std::shared_ptr<runtime> runtime::create(const runtime_options& options) {
  return std::shared_ptr<runtime>(new runtime(options));
}

runtime::runtime(const runtime_options& options)
    : options_(options),
      device_(options.ghost ? make_ghost_tier()
                            : make_host_tier(options.budget_bytes == 0
                                                 ? options.cache_bytes
                                                 : std::min(options.cache_bytes, options.budget_bytes))),
      policy_(make_policy(options.policy)) {
  if (options.record_trace) start_trace();
}

runtime::~runtime() = default;

buffer runtime::allocate(std::size_t bytes, object_class cls, const char* tag, bool wipe) {
  HALOCLINE_EXPECTS(bytes > 0, invalid_argument, "cannot allocate 0 bytes for '", tag, "'");
  auto state = std::make_unique<buffer_state>();
  const std::lock_guard lock(mutex_);
  const policy_state seen{options_.budget_bytes, stats_.live_bytes, stats_, nullptr};
  if (policy_->decide(seen, {bytes, cls, tag, stats_.allocations}).where == placement::refuse)
    throw_out_of_memory(bytes, cls, tag);
  // Cached blocks count against the budget too: they are bytes of the tier.
  if (options_.budget_bytes != 0 &&
      stats_.live_bytes + device_->cached_bytes() + bytes > options_.budget_bytes) {
    device_->trim();
  }
  live_.reserve(live_.size() + 1);
  void* const data = device_->allocate(bytes);
  if (data == nullptr) throw_out_of_memory(bytes, cls, tag);
  *state = {shared_from_this(),
            next_id_++,
            bytes,
            cls,
            tag,
            wipe,
            options_.ghost ? nullptr : static_cast<std::byte*>(data),
            live_.size()};
  live_.push_back(state.get());
  stats_.live_bytes += bytes;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  auto& class_bytes = stats_.live_by_class[static_cast<std::size_t>(cls)];
  class_bytes += bytes;
  auto& class_peak = stats_.peak_by_class[static_cast<std::size_t>(cls)];
  class_peak = std::max(class_peak, class_bytes);
  ++stats_.allocations;
  ++stats_.live_buffers;
  record(trace_action::allocate, *state, 0, bytes, "-", 0);
  return buffer(std::move(state));
}

void runtime::free(buffer_state& state) noexcept {
  const std::lock_guard lock(mutex_);
  if (state.wipe && state.data != nullptr) sodium_memzero(state.data, state.bytes);
  live_[state.live_index] = live_.back();
  live_[state.live_index]->live_index = state.live_index;
  live_.pop_back();
  stats_.live_bytes -= state.bytes;
  stats_.live_by_class[static_cast<std::size_t>(state.cls)] -= state.bytes;
  ++stats_.frees;
  --stats_.live_buffers;
  if (!options_.ghost) device_->free(state.data, state.bytes);
  try {
    record(trace_action::free, state, 0, state.bytes, "-", 0);
  } catch (...) {
    tracing_ = false;  // a trace with a hole would mislead: recording ends here
  }
}

access runtime::acquire(std::span<const operand> reads, std::span<const operand> writes, std::string_view op,
                        stream_view stream) {
  const std::lock_guard lock(mutex_);
  std::size_t step_bytes = 0;
  const auto visit = [&](std::span<const operand> operands, trace_action action) {
    for (const operand& each : operands) {
      HALOCLINE_EXPECTS(each.data != nullptr && *each.data, invalid_argument, op,
                        ": an operand is an empty buffer");
      const buffer_state& state = *each.data->state_;
      HALOCLINE_EXPECTS(state.owner.get() == this, invalid_argument, op, ": operand '", state.tag,
                        "' belongs to another runtime; move it to this engine first");
      HALOCLINE_EXPECTS(each.offset <= state.bytes && each.bytes <= state.bytes - each.offset,
                        invalid_argument, op, ": bytes [", each.offset, ", ", each.offset + each.bytes,
                        ") are outside '", state.tag, "' of ", state.bytes, " bytes");
      step_bytes += state.bytes;
      if (tracing_) record(action, state, each.offset, each.bytes, op, stream.id());
    }
  };
  visit(reads, trace_action::read);
  visit(writes, trace_action::write);
  stats_.largest_step_bytes = std::max(stats_.largest_step_bytes, step_bytes);
  ++stats_.steps;
  return access();
}

stats runtime::statistics() const {
  const std::lock_guard lock(mutex_);
  stats result = stats_;
  result.cached_bytes = device_->cached_bytes();
  return result;
}

void runtime::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.live_bytes;
  stats_.peak_by_class = stats_.live_by_class;
}

void runtime::start_trace() {
  const std::lock_guard lock(mutex_);
  trace_ = {};
  trace_start_ns_ = now_ns();
  trace_start_step_ = stats_.steps;
  tracing_ = true;
}

trace runtime::stop_trace() {
  const std::lock_guard lock(mutex_);
  tracing_ = false;
  return std::exchange(trace_, {});
}

void runtime::set_phase(std::string phase) {
  const std::lock_guard lock(mutex_);
  phase_ = std::move(phase);
}

void runtime::trim() {
  const std::lock_guard lock(mutex_);
  device_->trim();
}

void runtime::record(trace_action action, const buffer_state& state, std::size_t offset, std::size_t bytes,
                     std::string_view op, std::uint64_t stream) {
  if (!tracing_) return;
  trace_event event;
  event.step = stats_.steps - trace_start_step_;
  event.action = action;
  event.object = state.id;
  event.cls = state.cls;
  event.bytes = bytes;
  event.offset = offset;
  event.stream = static_cast<std::uint32_t>(stream);
  event.time_ns = options_.ghost ? event.step * ghost_step_ns : now_ns() - trace_start_ns_;
  event.op = trace_.intern(op);
  event.tag = trace_.intern(phase_.empty() ? std::string(state.tag) : phase_ + "/" + state.tag);
  trace_.events.push_back(event);
}

void runtime::throw_out_of_memory(std::size_t bytes, object_class cls, const char* tag) const {
  std::map<std::pair<std::string, object_class>, std::pair<std::size_t, std::size_t>> groups;
  for (const buffer_state* each : live_) {
    auto& [count, total] = groups[{each->tag, each->cls}];
    ++count;
    total += each->bytes;
  }
  std::vector<std::pair<std::size_t, std::string>> largest;
  for (const auto& [key, value] : groups) {
    largest.emplace_back(value.second, text(format_bytes(value.second), " in ", value.first, " ", key.first,
                                            " (", to_string(key.second), ")"));
  }
  std::sort(largest.rbegin(), largest.rend());
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, largest.size()); ++i) {
    list += (i == 0 ? "" : ", ") + largest[i].second;
  }
  const std::string limit = options_.budget_bytes == 0
                                ? std::string("no budget set; the machine gave no more")
                                : "budget " + format_bytes(options_.budget_bytes);
  throw out_of_memory(text("policy '", policy_->name(), "': cannot place ", format_bytes(bytes), " for ", tag,
                           " (", to_string(cls), "); ", format_bytes(stats_.live_bytes), " live, ", limit,
                           list.empty() ? "" : "; largest: ", list, ". A budget of at least ",
                           format_bytes(stats_.live_bytes + bytes), " (", stats_.live_bytes + bytes,
                           " bytes) is needed to get past this point"));
}

}  // namespace halocline::memory

// SPDX-License-Identifier: Apache-2.0
#include "memory/trace_recorder.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include "halocline/core/clock.hpp"
#include "memory/buffer_state.hpp"

namespace halocline::memory {
namespace {

constexpr std::uint64_t step_ns = 1000;

std::string_view recovery_of(const buffer_state& state) {
  return to_string(state.source ? state.source->kind() : recovery::copy);
}

/// "@0123456789abcdef" for named buffers.
std::string identity_suffix(const buffer_state& state) {
  if (state.identity == 0) return {};
  std::array<char, 18> digits{};
  std::snprintf(digits.data(), digits.size(), "@%016llx", static_cast<unsigned long long>(state.identity));
  return digits.data();
}

}  // namespace

void trace_recorder::start(std::uint64_t step) {
  trace_ = {};
  numbers_ = {};
  ++recording_;
  start_ns_ = now_ns();
  start_step_ = step;
  is_on_ = true;
}

trace trace_recorder::stop() {
  is_on_ = false;
  return std::exchange(trace_, {});
}

void trace_recorder::set_phase(std::string phase) {
  phase_ = std::move(phase);
  numbers_.tags.clear();
}

void trace_recorder::allocated(buffer_state& state, std::uint64_t step) {
  record(trace_action::allocate, state, 0, state.bytes, {"-", 0, step});
}

void trace_recorder::freed(buffer_state& state, std::uint64_t step) noexcept {
  try {
    record(trace_action::free, state, 0, state.bytes, {"-", 0, step});
  } catch (...) {
    is_on_ = false;
  }
}

void trace_recorder::begin_step(std::span<const touched_part> reads, std::span<const touched_part> writes,
                                std::string_view op, std::uint64_t stream, std::uint64_t step) {
  const auto note = [&](const touched_part& each, trace_action action) {
    buffer_state& state = *each.state;
    if (state.recording != recording_) {
      record(trace_action::exists, state, 0, state.bytes, {"-", 0, step});
    }
    record(action, state, each.offset, each.bytes, {op, stream, step});
  };
  for (const touched_part& each : reads) note(each, trace_action::read);
  for (const touched_part& each : writes) note(each, trace_action::write);
}

void trace_recorder::learn_recovery(const buffer_state& state) {
  if (!is_on_ || state.recording != recording_ || !state.source) return;
  trace_.events[state.trace_row].op = trace_.intern(to_string(state.source->kind()));
}

std::uint32_t trace_recorder::number_of_op(std::string_view op) {
  // The rows of a step follow each other.
  if (numbers_.op != op) {
    numbers_.op_number = trace_.intern(op);
    numbers_.op = op;
  }
  return numbers_.op_number;
}

std::uint32_t trace_recorder::number_of_tag(const char* tag) {
  const auto [place, fresh] = numbers_.tags.try_emplace(tag, 0);
  if (fresh) place->second = trace_.intern(phase_.empty() ? std::string(tag) : phase_ + "/" + tag);
  return place->second;
}

void trace_recorder::record(trace_action action, buffer_state& state, std::size_t offset, std::size_t bytes,
                            const context& of) {
  if (!is_on_) return;
  const bool begins = action == trace_action::allocate || action == trace_action::exists;
  trace_event event;
  event.step = of.step - start_step_;
  event.op = begins ? trace_.intern(recovery_of(state)) : number_of_op(of.op);
  event.action = action;
  event.object = state.id;
  event.cls = state.cls;
  event.bytes = bytes;
  event.offset = offset;
  event.stream = static_cast<std::uint32_t>(of.stream);
  event.time_ns = counts_steps_ ? event.step * step_ns : now_ns() - start_ns_;
  if (action == trace_action::exists) {
    event.tag = trace_.intern(state.tag + identity_suffix(state));
  } else {
    event.tag = number_of_tag(state.tag);
  }
  if (begins) {
    state.recording = recording_;
    state.trace_row = trace_.events.size();
  }
  trace_.events.push_back(event);
}

}  // namespace halocline::memory

// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/plan/program.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "halocline/core/expects.hpp"
#include "memory/plan/id_table.hpp"

namespace halocline::memory::plan {
namespace {

constexpr std::uint64_t max_object_bytes = std::uint64_t{1} << 43;
constexpr std::size_t max_count = std::size_t{1} << 31;

/// Identity in the tag of an exists row: sixteen hexadecimal digits behind the last '@'; 0 without them.
std::uint64_t identity_of(std::string_view tag) noexcept {
  constexpr std::size_t digits = 16;
  if (tag.size() <= digits || tag[tag.size() - digits - 1] != '@') return 0;
  const char* const end = tag.data() + tag.size();
  std::uint64_t value = 0;
  const auto [stop, status] = std::from_chars(end - digits, end, value, 16);
  return status == std::errc{} && stop == end ? value : 0;
}

recovery recovery_of(std::string_view op) noexcept {
  for (const recovery each : {recovery::expand, recovery::encode}) {
    if (op == to_string(each)) return each;
  }
  return recovery::copy;
}

/// Reads a trace row by row; the rows of one step are gathered and merged when the next step begins.
class program_builder {
 public:
  program_builder(const trace& recorded, const cost_model& costs, time_source source)
      : trace_(recorded), costs_(costs), source_(source), op_numbers_(recorded.names.size(), none) {}

  program build() {
    for (row_ = 0; row_ < trace_.events.size(); ++row_) add(trace_.events[row_]);
    close_step(trace_.events.empty() ? 0 : trace_.events.back().time_ns, true);
    result_.first_use.push_back(static_cast<std::uint32_t>(result_.uses.size()));
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// One buffer of the trace.
  struct buffer {
    object what;
    object_index number = none;  ///< tables get one when a step first uses them
    std::uint32_t slot = none;   ///< its use among those of the open step
    bool freed = false;
  };
  /// Bytes that one row of the open step writes.
  struct range {
    std::uint32_t slot;
    std::uint64_t begin, end;
  };
  struct pending {
    std::uint32_t buffer = 0;
    std::uint64_t end = 0;  ///< of the bytes touched
    bool reads = false, writes = false, covers = false;
  };

  void add(const trace_event& event) {
    expect(event.op < trace_.names.size() && event.tag < trace_.names.size(), event, "its texts are missing");
    expect(row_ == 0 || event.step >= last_step_, event, "steps are out of order");
    if (open_ && event.step > last_step_) close_step(event.time_ns, false);
    last_step_ = event.step;
    const std::uint32_t number = ids_.find(event.object);
    if (event.action == trace_action::allocate || event.action == trace_action::exists) {
      expect(number == id_table::absent, event, "the buffer is there already");
      add_buffer(event);
      return;
    }
    expect(number != id_table::absent, event, "the buffer has not been allocated");
    buffer& touched = buffers_[number];
    expect(!touched.freed, event, "the buffer has been freed");
    if (event.action == trace_action::free) {
      free(touched);
    } else {
      touch(event, number);
    }
  }

  void add_buffer(const trace_event& event) {
    expect(event.bytes > 0 && event.bytes <= max_object_bytes, event, "the buffer's size is out of range");
    expect(buffers_.size() < max_count, event, "more than 2^31 buffers");
    ids_.insert(event.object, static_cast<std::uint32_t>(buffers_.size()));
    buffer& added = buffers_.emplace_back();
    added.what = {event.object,
                  event.action == trace_action::exists ? identity_of(trace_.tag(event)) : 0,
                  event.bytes,
                  event.cls,
                  recovery_of(trace_.op(event)),
                  event.action == trace_action::exists || event.cls == object_class::table,
                  0,
                  no_step};
    if (!added.what.preexisting) added.what.born = kept_steps();
    if (event.cls != object_class::table) give_number(added);
  }

  void give_number(buffer& target) {
    target.number = static_cast<object_index>(result_.objects.size());
    result_.objects.push_back(target.what);
  }

  void free(buffer& target) {
    target.freed = true;
    target.what.dead = kept_steps() + (target.slot != none ? 1 : 0);
    if (target.number != none) result_.objects[target.number].dead = target.what.dead;
  }

  void touch(const trace_event& event, std::uint32_t number) {
    buffer& target = buffers_[number];
    const std::uint64_t bytes = target.what.bytes;
    if (event.cls != target.what.cls) refuse_class(event, target.what.cls);
    expect(event.offset <= bytes && event.bytes <= bytes - event.offset, event,
           "the bytes are outside the buffer");
    if (!open_) open_step(event);
    if (target.slot == none) {
      target.slot = static_cast<std::uint32_t>(pending_.size());
      pending_.push_back({number});
    }
    pending& merged = pending_[target.slot];
    merged.end = std::max(merged.end, event.offset + event.bytes);
    step_bytes_ += event.bytes;
    if (event.action == trace_action::read) {
      merged.reads = true;
    } else {
      merged.writes = true;
      merged.covers = merged.covers || event.bytes == bytes;
      written_.push_back({target.slot, event.offset, event.offset + event.bytes});
    }
  }

  void open_step(const trace_event& event) {
    open_ = true;
    step_op_ = event.op;
    step_time_ = event.time_ns;
    step_bytes_ = 0;
  }

  /// Ends the open step, which lasted until `time_ns`.
  void close_step(std::uint64_t time_ns, bool is_last) {
    if (!open_) return;
    if (builds_tables()) {
      for (const pending& each : pending_) buffers_[each.buffer].slot = none;
    } else {
      join_writes();
      keep_step(time_ns, is_last);
    }
    pending_.clear();
    written_.clear();
    open_ = false;
  }

  [[nodiscard]] bool builds_tables() const {
    return !written_.empty() && std::all_of(written_.begin(), written_.end(), [&](const range& each) {
      return buffers_[pending_[each.slot].buffer].what.cls == object_class::table;
    });
  }

  /// Finds buffers that several writes cover together.
  void join_writes() {
    const auto settled = [&](const range& each) { return pending_[each.slot].covers; };
    written_.erase(std::remove_if(written_.begin(), written_.end(), settled), written_.end());
    std::sort(written_.begin(), written_.end(), [](const range& a, const range& b) {
      return a.slot != b.slot ? a.slot < b.slot : a.begin < b.begin;
    });
    for (std::size_t i = 0; i < written_.size();) {
      const std::uint32_t slot = written_[i].slot;
      std::uint64_t reached = 0;
      for (; i < written_.size() && written_[i].slot == slot; ++i) {
        if (written_[i].begin <= reached) reached = std::max(reached, written_[i].end);
      }
      pending_[slot].covers = reached == buffers_[pending_[slot].buffer].what.bytes;
    }
  }

  void keep_step(std::uint64_t time_ns, bool is_last) {
    expect(result_.hashes.size() < max_count && result_.uses.size() + pending_.size() < max_count,
           trace_.events[row_ - 1], "more than 2^31 steps or uses");
    const std::string& name = trace_.names[step_op_];
    step_hash hash(name);
    result_.first_use.push_back(static_cast<std::uint32_t>(result_.uses.size()));
    for (const pending& each : pending_) {
      buffer& target = buffers_[each.buffer];
      if (target.number == none) give_number(target);
      target.slot = none;
      hash.add(target.what.cls, target.what.bytes, each.writes, which_object(target.what, target.number));
      result_.uses.push_back({target.number, std::max(1U, pages_of(each.end)),
                              each.reads || (each.writes && !each.covers), each.writes});
    }
    result_.hashes.push_back(hash.value());
    result_.ops.push_back(number_of_op());
    const bool recorded = source_ == time_source::recorded && !(is_last && time_ns <= step_time_);
    result_.duration_ns.push_back(recorded ? static_cast<double>(time_ns - std::min(time_ns, step_time_))
                                           : costs_.operation(name, static_cast<double>(step_bytes_)));
  }

  std::uint32_t number_of_op() {
    std::uint32_t& number = op_numbers_[step_op_];
    if (number == none) {
      number = static_cast<std::uint32_t>(result_.names.size());
      result_.names.push_back(trace_.names[step_op_]);
    }
    return number;
  }

  /// Number of the step that is open, or of the next one.
  [[nodiscard]] step_index kept_steps() const noexcept {
    return static_cast<step_index>(result_.hashes.size());
  }

  void expect(bool holds, const trace_event& event, const char* what) const {
    HALOCLINE_EXPECTS(holds, corrupt_data, "trace row ", row_ + 1, " (step ", event.step, ", buffer ",
                      event.object, "): ", what, "; record the trace again");
  }

  [[noreturn]] void refuse_class(const trace_event& event, object_class expected) const {
    throw corrupt_data(text("trace row ", row_ + 1, " (step ", event.step, ", buffer ", event.object,
                            "): its class is '", to_string(event.cls), "', expected '", to_string(expected),
                            "' as where it was allocated; record the trace again"));
  }

  const trace& trace_;
  const cost_model& costs_;
  const time_source source_;
  program result_;
  id_table ids_;
  std::vector<buffer> buffers_;
  std::vector<std::uint32_t> op_numbers_;  ///< per text of the trace
  std::size_t row_ = 0;
  std::uint64_t last_step_ = 0;
  // The open step.
  bool open_ = false;
  std::uint32_t step_op_ = 0;
  std::uint64_t step_time_ = 0, step_bytes_ = 0;
  std::vector<pending> pending_;
  std::vector<range> written_;
};

}  // namespace

program make_program(const trace& recorded, const cost_model& costs, time_source source) {
  return program_builder(recorded, costs, source).build();
}

std::uint64_t program::footprint_bytes() const {
  std::vector<bool> touched(objects.size());
  std::uint64_t pages = 0;
  for (const use& each : uses) {
    if (touched[each.target]) continue;
    touched[each.target] = true;
    pages += pages_of(objects[each.target].bytes);
  }
  return pages * page_bytes;
}

namespace {

// FNV-1a over 64 bits (Fowler, Noll, Vo).
constexpr std::uint64_t fnv_basis = 0xCBF29CE484222325U;
constexpr std::uint64_t fnv_prime = 0x100000001B3U;

}  // namespace

step_hash::step_hash(std::string_view op) noexcept : state_(fnv_basis) {
  for (const char c : op) state_ = (state_ ^ static_cast<unsigned char>(c)) * fnv_prime;
}

void step_hash::add(object_class cls, std::uint64_t object_bytes, bool writes, std::uint64_t which) noexcept {
  // Two rounds per use instead of one per byte: the executor computes this at each step.
  const std::uint64_t word = object_bytes * 16 + static_cast<std::uint64_t>(cls) * 2 + (writes ? 1 : 0);
  for (const std::uint64_t each : {word, which}) {
    state_ = (state_ ^ each) * fnv_prime;
    state_ ^= state_ >> 29;
  }
}

std::uint32_t step_hash::value() const noexcept {
  return static_cast<std::uint32_t>(state_ ^ (state_ >> 32));
}

}  // namespace halocline::memory::plan

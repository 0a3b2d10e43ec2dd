// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "halocline/memory/trace.hpp"

namespace halocline::test {

/// Builds traces row by row, as the runtime records them.
class trace_maker {
 public:
  std::uint64_t exists(memory::object_class cls, std::uint64_t bytes, std::uint64_t identity = 0,
                       memory::recovery comes_back = memory::recovery::copy) {
    return add(memory::trace_action::exists, cls, bytes, to_string(comes_back), tag_of("sample", identity));
  }
  /// Tag of a named buffer.
  static std::string tag_of(std::string tag, std::uint64_t identity) {
    if (identity == 0) return tag;
    tag += '@';
    for (int shift = 60; shift >= 0; shift -= 4) tag += "0123456789abcdef"[identity >> shift & 15];
    return tag;
  }
  std::uint64_t allocate(memory::object_class cls, std::uint64_t bytes) {
    return add(memory::trace_action::allocate, cls, bytes, "-", "sample");
  }
  void free(std::uint64_t id) { row(memory::trace_action::free, id, 0, buffers_[id - 1].bytes, "-"); }
  void read(std::uint64_t id, std::uint64_t bytes, std::uint64_t offset = 0) {
    row(memory::trace_action::read, id, offset, bytes, op_);
  }
  void read(std::uint64_t id) { read(id, buffers_[id - 1].bytes); }
  void write(std::uint64_t id, std::uint64_t bytes, std::uint64_t offset = 0) {
    row(memory::trace_action::write, id, offset, bytes, op_);
  }
  void write(std::uint64_t id) { write(id, buffers_[id - 1].bytes); }
  /// Ends a step that lasted so long.
  void end_step(std::uint64_t duration_ns = 1000) {
    ++step_;
    time_ns_ += duration_ns;
  }
  void set_op(std::string op) { op_ = std::move(op); }
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t id) const { return buffers_[id - 1].bytes; }
  [[nodiscard]] const memory::trace& result() const { return trace_; }

 private:
  struct buffer {
    memory::object_class cls;
    std::uint64_t bytes;
  };

  std::uint64_t add(memory::trace_action action, memory::object_class cls, std::uint64_t bytes,
                    std::string_view op, std::string_view tag) {
    buffers_.push_back({cls, bytes});
    row(action, buffers_.size(), 0, bytes, op, tag);
    return buffers_.size();
  }
  void row(memory::trace_action action, std::uint64_t id, std::uint64_t offset, std::uint64_t bytes,
           std::string_view op, std::string_view tag = "sample") {
    trace_.events.push_back({step_, id, bytes, offset, time_ns_, 0, trace_.intern(op), trace_.intern(tag),
                             action, buffers_[id - 1].cls});
  }

  memory::trace trace_;
  std::vector<buffer> buffers_;
  std::string op_ = "op";
  std::uint64_t step_ = 0, time_ns_ = 0;
};

/// Trace of a random program: keys (named, some seeded) read in part, plaintexts, anonymous tables,
/// ciphertexts that are born, overwritten in whole or in part, and freed or not, and scratch that lives for
/// a few steps.
class random_program {
 public:
  explicit random_program(std::uint32_t seed, unsigned steps = 120) : random_(seed) {
    for (unsigned i = 0, n = 3 + below(8); i < n; ++i) {
      const bool is_seeded = below(2) == 0;
      fixed_.push_back(maker_.exists(memory::object_class::evaluation_key, 4096 * (1 + below(20)), 100 + i,
                                     is_seeded ? memory::recovery::expand : memory::recovery::copy));
    }
    for (unsigned i = below(4); i > 0; --i)
      fixed_.push_back(maker_.exists(memory::object_class::table, 1 + below(9000)));
    for (unsigned i = below(5); i > 0; --i)
      fixed_.push_back(maker_.exists(memory::object_class::plaintext, 1 + below(30000), 500 + i,
                                     memory::recovery::encode));
    for (unsigned i = 1 + below(3); i > 0; --i)
      live_.push_back(maker_.exists(memory::object_class::ciphertext, 4096 + below(40000), 900 + i));
    for (unsigned s = 0; s < steps; ++s) step();
  }

  [[nodiscard]] const memory::trace& trace() const { return maker_.result(); }
  std::uint32_t below(std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random_);
  }

 private:
  std::uint64_t pick(const std::vector<std::uint64_t>& from) {
    return from[below(static_cast<std::uint32_t>(from.size()))];
  }

  void step() {
    maker_.set_op("op" + std::to_string(below(5)));
    if (below(3) == 0 || live_.empty()) live_.push_back(allocate_written(memory::object_class::ciphertext));
    if (below(3) == 0) scratch_.push_back(allocate_written(memory::object_class::scratch));
    for (std::uint32_t i = below(3); i > 0; --i) {
      const std::uint64_t id = pick(fixed_);
      const std::uint64_t bytes = maker_.bytes_of(id), part = (1 + below(4)) * bytes / 4;
      maker_.read(id, part == 0 ? bytes : part);
    }
    maker_.read(pick(live_));
    if (!scratch_.empty() && below(2) == 0) maker_.read(pick(scratch_));
    if (below(3) == 0) maker_.write(pick(live_));
    if (below(4) == 0) maker_.write(pick(live_), 100, 0);
    maker_.end_step(1000 + below(2'000'000));
    if (!scratch_.empty() && below(2) == 0) free_one(scratch_);
    if (live_.size() > 3 && below(2) == 0) free_one(live_);
  }

  std::uint64_t allocate_written(memory::object_class cls) {
    const std::uint64_t id = maker_.allocate(cls, 100 + below(50000));
    maker_.write(id);
    return id;
  }

  void free_one(std::vector<std::uint64_t>& from) {
    const std::size_t at = below(static_cast<std::uint32_t>(from.size()));
    maker_.free(from[at]);
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
  }

  std::mt19937 random_;
  trace_maker maker_;
  std::vector<std::uint64_t> fixed_, live_, scratch_;
};

}  // namespace halocline::test

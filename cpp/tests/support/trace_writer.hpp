// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "halocline/memory/sim/device_model.hpp"
#include "halocline/memory/trace.hpp"

namespace halocline::test {

/// Writes traces row by row; its clock is the kernel time of a device.
class trace_writer {
 public:
  explicit trace_writer(const memory::sim::device_model& clock) : clock_(clock) {}

  struct access {
    std::uint64_t object;
    bool write;
    std::uint64_t bytes = 0;  ///< first bytes that are touched; 0: all
  };

  /// A buffer that was there before.
  std::uint64_t existing(memory::object_class cls, std::uint64_t bytes, const std::string& tag) {
    return begin(memory::trace_action::exists, cls, bytes, tag);
  }
  std::uint64_t allocate(memory::object_class cls, std::uint64_t bytes, const std::string& tag) {
    return begin(memory::trace_action::allocate, cls, bytes, tag);
  }
  void free(std::uint64_t object) { row(memory::trace_action::free, "-", object, 0, objects_[object].bytes); }
  /// Prefix of the tags from here on.
  void phase(std::string name) { phase_ = std::move(name); }

  /// One operation.
  void step(const std::string& op, std::initializer_list<access> operands) {
    step(op, std::vector<access>(operands));
  }
  void step(const std::string& op, const std::vector<access>& operands) {
    double bytes = 0;
    for (const access& each : operands) {
      const std::uint64_t size = each.bytes != 0 ? each.bytes : objects_[each.object].bytes;
      row(each.write ? memory::trace_action::write : memory::trace_action::read, op, each.object, 0, size);
      if (objects_[each.object].cls != memory::object_class::table) bytes += static_cast<double>(size);
    }
    ++step_;
    time_us_ += clock_.kernel_us(op, bytes);
  }

  [[nodiscard]] const memory::trace& result() const { return result_; }

 private:
  struct object {
    std::uint64_t bytes;
    memory::object_class cls;
    std::string tag;
  };

  std::uint64_t begin(memory::trace_action action, memory::object_class cls, std::uint64_t bytes,
                      const std::string& tag) {
    objects_.push_back({bytes, cls, tag});
    row(action, "-", objects_.size() - 1, 0, bytes);
    return objects_.size() - 1;
  }
  void row(memory::trace_action action, const std::string& op, std::uint64_t id, std::uint64_t offset,
           std::uint64_t bytes) {
    memory::trace_event event;
    event.step = step_;
    event.object = id;
    event.bytes = bytes;
    event.offset = offset;
    event.time_ns = static_cast<std::uint64_t>(time_us_ * 1e3);
    event.op = result_.intern(op);
    event.tag = result_.intern(phase_.empty() ? objects_[id].tag : phase_ + "/" + objects_[id].tag);
    event.action = action;
    event.cls = objects_[id].cls;
    result_.events.push_back(event);
  }

  const memory::sim::device_model& clock_;
  memory::trace result_;
  std::vector<object> objects_;
  std::string phase_;
  std::uint64_t step_ = 0;
  double time_us_ = 0;
};

}  // namespace halocline::test

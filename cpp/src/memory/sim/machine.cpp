// SPDX-License-Identifier: Apache-2.0
#include "memory/sim/machine.hpp"

#include <algorithm>

namespace halocline::memory::sim {

machine::machine(const device_model& device, replay_report& report, timeline* spans)
    : model_(device),
      report_(report),
      spans_(spans),
      load_{device.load_bytes_per_s},
      store_{device.store_bytes_per_s},
      queue_(static_cast<std::size_t>(device.queue_depth), 0.0) {}

void machine::restart(timeline* spans) {
  spans_ = span_recorder(spans);
  host_ = device_ = load_.busy_until = store_.busy_until = 0;
  std::fill(queue_.begin(), queue_.end(), 0.0);
}

void machine::synchronize() noexcept { wait_until(device_); }

void machine::wait_until(double us) noexcept {
  if (us <= host_) return;
  report_.synchronize_s += (us - host_) / us_per_s;
  host_ = us;
}

void machine::hold_device(double until_us) noexcept {
  if (until_us <= device_) return;
  const double host_part = std::clamp(host_, device_, until_us);
  spans_.add(activity::stall, "waits for the host", device_, host_part);
  spans_.add(activity::stall, "waits for a copy", host_part, until_us);
  report_.host_wait_s += (host_part - device_) / us_per_s;
  report_.transfer_wait_s += (until_us - host_part) / us_per_s;
  device_ = until_us;
}

void machine::run(const kernel& work) {
  const auto launches = static_cast<std::size_t>(work.launches);
  for (std::size_t i = 0; i < launches; ++i) {
    host_ = std::max(host_, queue_[(next_ + i) % queue_.size()]) + model_.launch_us;
  }
  hold_device(std::max({host_, device_, work.ready_us}));
  spans_.add(activity::fault, "page faults", device_, device_ + work.fault_us);
  device_ += work.us + work.fault_us;
  spans_.add(activity::compute, work.name, device_ - work.us, device_);
  report_.compute_s += work.us / us_per_s;
  report_.fault_s += work.fault_us / us_per_s;
  for (std::size_t i = 0; i < launches; ++i) {
    queue_[next_] = device_;
    next_ = (next_ + 1) % queue_.size();
  }
}

double machine::load(std::uint64_t bytes, double earliest) {
  report_.loaded_bytes += bytes;
  const double begin = std::max(earliest, load_.busy_until);
  load_.busy_until = transfer(load_, store_, bytes, earliest, report_.load_busy_s);
  spans_.add(activity::load, "load", begin, load_.busy_until, bytes);
  return load_.busy_until;
}

double machine::store(std::uint64_t bytes, double earliest) {
  report_.stored_bytes += bytes;
  const double begin = std::max(earliest, store_.busy_until);
  store_.busy_until = transfer(store_, load_, bytes, earliest, report_.store_busy_s);
  spans_.add(activity::write_back, "write back", begin, store_.busy_until, bytes);
  return store_.busy_until;
}

// While the other direction is busy, both run at the share that the sum allows. Transfers that are already
// under way keep their end: the error is below the 8 % by which the sum of the H200's links exceeds the
// limit.
double machine::transfer(link& used, const link& other, std::uint64_t bytes, double earliest,
                         double& busy_s) const {
  const double begin = std::max(earliest, used.busy_until);
  const double alone = used.rate / us_per_s;
  const double shared = alone * std::min(1.0, model_.both_bytes_per_s / (used.rate + other.rate));
  const double left = static_cast<double>(bytes);
  const double overlap_us = std::max(0.0, other.busy_until - begin - model_.copy_us);
  const double done = std::min(left, overlap_us * shared);
  const double end = begin + model_.copy_us + done / shared + (left - done) / alone;
  busy_s += (end - begin) / us_per_s;
  return end;
}

}  // namespace halocline::memory::sim

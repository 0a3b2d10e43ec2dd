// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "conformance/backend_ops/ops_fixture.hpp"
#include "cuda_emulation.hpp"
#include "halocline/backend/registry.hpp"

namespace halocline::test {

using arith::window;
using backend::limb_view;

/// A scalar CPU backend whose buffers the emulated kernels use as well. Every operation is run by both into
/// destinations that began with the same contents.
template <typename WordT>
class cuda_kernel_rig : public testing::Test {
 protected:
  void begin(unsigned log_n) {
    SCOPED_TRACE(log_n);
    host_.emplace(log_n);
    backend::backend_options options;
    options.scalar = true;
    cpu_ = backend::make_backend("cpu", options);
    ring_.emplace(*host_, *cpu_);
    random_.seed(20261121 + log_n);
    views_.clear();
  }
  /// Random limbs, as operand.
  limb_view operand(window w, unsigned log_repeat = 0) {
    limbs<WordT> values = random_limbs(*host_, w, random_);
    for (auto& limb : values) limb.resize(limb.size() >> log_repeat);
    views_.push_back(ring_->filled(w, values, log_repeat));
    return views_.back();
  }
  template <typename T>
  const memory::buffer* raw(const std::vector<T>& values) {
    const memory::buffer* const data = &ring_->keep(values);
    buffers_.push_back(data);
    return data;
  }
  /// A destination with random contents for each of the two runs.
  struct twin {
    limb_view cpu, emulated;
  };
  twin destination(window w, unsigned log_repeat = 0) {
    limbs<WordT> before = random_limbs(*host_, w, random_);
    for (auto& limb : before) limb.resize(limb.size() >> log_repeat);
    twins_.push_back({ring_->filled(w, before, log_repeat), ring_->filled(w, before, log_repeat)});
    return twins_.back();
  }
  /// Runs the kernels on the host. The CPU backend has run already.
  template <typename BodyT>
  void emulate(const BodyT& body) {
    std::vector<memory::operand> all{{&ring_->tables().moduli, 0, ring_->tables().moduli.size()}};
    for (const limb_view& view : views_) all.push_back({view.data, 0, view.data->size()});
    for (const memory::buffer* data : buffers_) all.push_back({data, 0, data->size()});
    for (const twin& each : twins_) all.push_back({each.emulated.data, 0, each.emulated.data->size()});
    {
      const memory::access at = cpu_->runtime().acquire(all, all, "emulation", {});
      body(emulated_executor<WordT>(ring_->tables(), at));
    }
    for (const twin& each : twins_) {
      ASSERT_EQ(ring_->read(each.emulated), ring_->read(each.cpu)) << "N = 2^" << host_->log_n;
      ASSERT_TRUE(ring_->guards_intact(each.emulated));
    }
    views_.clear();
    buffers_.clear();
    twins_.clear();
  }
  /// A window within the ring.
  window any_window() {
    const auto primes = static_cast<std::uint32_t>(host_->primes.size());
    const auto first = static_cast<std::uint32_t>(random_() % primes);
    return {first, 1 + static_cast<std::uint32_t>(random_() % (primes - first))};
  }
  backend::uniform_source source() {
    backend::uniform_source made;
    for (auto& byte : made.seed) byte = static_cast<std::uint8_t>(random_());
    made.stream = static_cast<std::uint32_t>(random_());
    made.rule = random_() % 2 == 0 ? stream_rule::chacha20_retry : stream_rule::chacha8_spare;
    return made;
  }

  std::optional<host_ring<WordT>> host_;
  std::shared_ptr<backend::backend> cpu_;
  std::optional<device_ring<WordT>> ring_;
  std::mt19937_64 random_;
  std::vector<limb_view> views_;
  std::vector<const memory::buffer*> buffers_;
  std::vector<twin> twins_;
};

}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "backend/cuda/device/resolve.hpp"
#include "conformance/backend_ops/ops_fixture.hpp"
#include "halocline/backend/registry.hpp"

namespace halocline::test {

/// A ring whose polynomials have limbs of all its primes, on a scalar CPU backend whose buffers emulated
/// kernels use as well.
class cuda_fused_rig : public testing::Test {
 protected:
  using word = std::uint32_t;

  /// @param bits of the primes, one each
  void begin(unsigned log_n, const std::vector<double>& bits) {
    host_.emplace(log_n);
    host_->primes.clear();
    for (const double each : bits) {
      host_->primes.push_back(
          params::primes_below(each, 1, std::uint64_t{2} << log_n, host_->primes).front());
    }
    backend::backend_options options;
    options.scalar = true;
    buffers_.clear();
    twins_.clear();
    cpu_ = backend::make_backend("cpu", options);
    ring_.emplace(*host_, *cpu_);
    random_.seed(20261123 + log_n);
  }
  [[nodiscard]] std::uint32_t limbs() const { return static_cast<std::uint32_t>(host_->primes.size()); }
  [[nodiscard]] std::size_t n() const { return host_->n(); }

  /// Random residues of `count` polynomials, extreme ones among them; `highest`: all are q - 1.
  [[nodiscard]] std::vector<word> residues(std::size_t count, bool highest = false) {
    std::vector<word> values;
    for (std::size_t i = 0; i < count * limbs(); ++i) {
      const std::uint64_t q = host_->primes[i % limbs()];
      for (std::size_t j = 0; j < n(); ++j) {
        const std::uint64_t draw = random_();
        const std::uint64_t edges[] = {0, 1, q - 1, q / 2, q / 2 + 1};
        values.push_back(static_cast<word>(highest         ? q - 1
                                           : draw % 8 == 0 ? edges[(draw >> 8) % 5]
                                                           : (draw >> 4) % q));
      }
    }
    return values;
  }
  /// Uploads an operand.
  template <typename T>
  const memory::buffer* raw(const std::vector<T>& values) {
    buffers_.push_back(&ring_->keep(values));
    return buffers_.back();
  }
  /// Residues in the order of a point matrix of `rows` rows.
  const memory::buffer* points(std::uint32_t rows, bool highest = false) {
    std::vector<word> values;
    for (const std::uint64_t q : host_->primes) {
      for (std::size_t i = 0; i < rows * n(); ++i) {
        const std::uint64_t draw = random_();
        values.push_back(static_cast<word>(highest || draw % 8 == 0 ? q - 1 : (draw >> 4) % q));
      }
    }
    return raw(values);
  }
  /// The same contents for the CPU backend (first) and for an emulated kernel.
  template <typename T>
  std::pair<const memory::buffer*, const memory::buffer*> destination(const std::vector<T>& before) {
    twins_.push_back({&ring_->keep(before), &ring_->keep(before)});
    return twins_.back();
  }
  /// Runs kernels on the host, after the CPU backend, and compares whole buffers.
  template <typename BodyT>
  void emulate(const BodyT& body) {
    const backend::ring_tables& tables = ring_->tables();
    std::vector<memory::operand> all{{&tables.moduli, 0, tables.moduli.size()},
                                     {&tables.roots, 0, tables.roots.size()}};
    for (const memory::buffer* data : buffers_) all.push_back({data, 0, data->size()});
    for (const auto& each : twins_) all.push_back({each.second, 0, each.second->size()});
    {
      const memory::access at = cpu_->runtime().acquire(all, all, "emulation", {});
      body(backend::cuda::resolver<word>(tables, at));
    }
    for (const auto& each : twins_) ASSERT_EQ(words_of(*each.second), words_of(*each.first));
    buffers_.clear();
    twins_.clear();
  }
  [[nodiscard]] std::vector<word> words_of(const memory::buffer& data) {
    std::vector<word> values(data.size() / sizeof(word));
    cpu_->download(std::as_writable_bytes(std::span(values)), data, 0);
    return values;
  }

  std::optional<host_ring<word>> host_;
  std::shared_ptr<backend::backend> cpu_;
  std::optional<device_ring<word>> ring_;
  std::mt19937_64 random_;
  std::vector<const memory::buffer*> buffers_;
  std::vector<std::pair<const memory::buffer*, const memory::buffer*>> twins_;
};

}  // namespace halocline::test

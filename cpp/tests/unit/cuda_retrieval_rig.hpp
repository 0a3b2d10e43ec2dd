// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "backend/cuda/device/resolve.hpp"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "conformance/backend_ops/ops_fixture.hpp"
#include "halocline/backend/registry.hpp"

namespace halocline::test {

/// A scalar CPU backend whose buffers the kernels of private retrieval use as well, run on the host. Every
/// operation is run by both into destinations that began with the same contents.
class cuda_retrieval_rig : public testing::Test {
 protected:
  using word = std::uint32_t;

  /// A ring with primes just below 2^bits.
  void begin(unsigned log_n, const std::vector<double>& bits) {
    buffers_.clear();
    twins_.clear();
    ring_.reset();
    host_.emplace(log_n);
    host_->primes.clear();
    for (const double each : bits) {
      host_->primes.push_back(
          params::primes_below(each, 1, std::uint64_t{2} << log_n, host_->primes).front());
    }
    backend::backend_options options;
    options.scalar = true;
    cpu_ = backend::make_backend("cpu", options);
    ring_.emplace(*host_, *cpu_);
    random_.seed(20261123 + log_n);
  }
  [[nodiscard]] const backend::ring_tables& tables() const { return ring_->tables(); }
  [[nodiscard]] std::size_t n() const { return host_->n(); }
  [[nodiscard]] std::uint32_t limbs() const { return static_cast<std::uint32_t>(host_->primes.size()); }
  /// Random, with the ends and the middle of the range more often.
  [[nodiscard]] word residue(std::uint32_t prime) {
    const std::uint64_t q = host_->primes[prime], draw = random_();
    const std::uint64_t edges[] = {0, 1, q / 2, q / 2 + 1, q - 2, q - 1};
    return static_cast<word>(draw % 4 == 0 ? edges[(draw >> 8) % 6] : (draw >> 4) % q);
  }
  [[nodiscard]] std::vector<std::uint64_t> factors() {
    std::vector<std::uint64_t> made;
    for (std::uint32_t l = 0; l < limbs(); ++l) made.push_back(residue(l));
    return made;
  }

  template <typename T>
  const memory::buffer* keep(const std::vector<T>& values) {
    buffers_.push_back(&ring_->keep(values));
    return buffers_.back();
  }
  /// Random residues: `count` entries of `polynomials`, one limb of space before each.
  backend::poly_array operand(std::uint32_t count, std::uint32_t polynomials) {
    const std::uint32_t own = polynomials * limbs();
    std::vector<word> words;
    for (std::uint32_t i = 0; i < count; ++i) {
      words.resize(words.size() + n(), ~word{0});
      for (std::uint32_t l = 0; l < own; ++l) {
        for (std::size_t j = 0; j < n(); ++j) words.push_back(residue(l % limbs()));
      }
    }
    return {keep(words), 1, own + 1};
  }
  /// Random residues as a point matrix.
  backend::point_matrix matrix(std::uint32_t rows) {
    std::vector<word> words;
    for (std::uint32_t l = 0; l < limbs(); ++l) {
      for (std::size_t j = 0; j < n() * rows; ++j) words.push_back(residue(l));
    }
    return {keep(words), rows};
  }
  /// The same contents for each of the two runs.
  struct twin {
    const memory::buffer *cpu, *emulated;
  };
  template <typename T>
  twin twice(const std::vector<T>& values) {
    twins_.push_back({&ring_->keep(values), &ring_->keep(values)});
    return twins_.back();
  }
  struct array_twin {
    backend::poly_array cpu, emulated;
  };
  /// A destination, with space as in `operand`, that begins as `like` where that is given.
  array_twin destination(std::uint32_t count, std::uint32_t polynomials,
                         const backend::poly_array* like = nullptr, std::uint32_t gap = 1) {
    const std::uint32_t stride = polynomials * limbs() + gap;
    std::vector<word> words((std::size_t{count} * stride + 1) * n(), 0xa5a5a5a5);
    if (like != nullptr) words = read<word>(*like->data);
    const twin both = twice(words);
    return {{both.cpu, 1, stride}, {both.emulated, 1, stride}};
  }
  template <typename T>
  [[nodiscard]] std::vector<T> read(const memory::buffer& data) {
    std::vector<T> values(data.size() / sizeof(T));
    cpu_->download(std::as_writable_bytes(std::span(values)), data, 0);
    return values;
  }

  /// Runs `body(resolver)` and compares all destinations. The CPU backend has run already.
  template <typename BodyT>
  void emulate(const BodyT& body) {
    std::vector<memory::operand> all;
    for (const auto* table : {&tables().moduli, &tables().roots}) all.push_back({table, 0, table->size()});
    for (const auto* data : buffers_) all.push_back({data, 0, data->size()});
    for (const twin& each : twins_) all.push_back({each.emulated, 0, each.emulated->size()});
    {
      const memory::access at = cpu_->runtime().acquire(all, all, "emulation", {});
      body(backend::cuda::resolver<word>(tables(), at));
    }
    for (std::size_t t = 0; t < twins_.size(); ++t) {
      const std::vector<word> got = read<word>(*twins_[t].emulated), wanted = read<word>(*twins_[t].cpu);
      const auto [at, other] = std::mismatch(got.begin(), got.end(), wanted.begin());
      if (at == got.end()) continue;
      ADD_FAILURE() << "N = 2^" << host_->log_n << ", destination " << t << ", word " << at - got.begin()
                    << ": " << *at << ", expected " << *other;
      break;
    }
    twins_.clear();
  }

  /// Runs `body(coordinates)` for every thread of a grid.
  template <typename BodyT>
  static void for_grid(std::uint32_t blocks, std::uint32_t rows, std::uint32_t threads, const BodyT& body) {
    for (std::uint32_t y = 0; y < rows; ++y) {
      for (std::uint32_t x = 0; x < blocks; ++x) {
        for (std::uint32_t t = 0; t < threads; ++t) body(backend::cuda::coordinates{x, y, t, threads});
      }
    }
  }

  std::optional<host_ring<word>> host_;
  std::shared_ptr<backend::backend> cpu_;
  std::optional<device_ring<word>> ring_;
  std::mt19937_64 random_;
  std::vector<const memory::buffer*> buffers_;
  std::vector<twin> twins_;
};

}  // namespace halocline::test

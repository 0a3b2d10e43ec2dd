// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "support/random_program.hpp"

namespace halocline::test {

/// A program of rotations: every switch picks a key, by Zipf's law, and reads all of its halves.
struct key_switch_shape {
  unsigned keys = 64;
  unsigned halves = 8;  ///< of one key: digits times two; every second one is seeded
  std::uint64_t half_bytes = (34 * 1024 * 1024 / 10 + 4095) / 4096 * 4096;
  unsigned switches = 2000;
  unsigned levels =
      1;            ///< keys are read at random levels; level l of n needs the first (l + 1) / n of a half
  double zipf = 1;  ///< exponent; 0: all keys alike
  std::uint64_t switch_ns = 7'000'000;
  std::uint64_t ciphertext_bytes = 2 << 20;
  unsigned ciphertexts = 4;      ///< live at a time
  unsigned digits_per_step = 4;  ///< digits whose product is one step
  std::uint32_t seed = 1;
};

/// Trace of such a program: per switch one step that raises the digits into scratch, products of digits and
/// key, and one step that writes the new ciphertext.
class key_switch_program {
 public:
  explicit key_switch_program(const key_switch_shape& shape) : shape_(shape), random_(shape.seed) {
    for (unsigned k = 0; k < shape.keys; ++k) {
      for (unsigned h = 0; h < shape.halves; ++h) {
        const auto way = h % 2 == 0 ? memory::recovery::copy : memory::recovery::expand;
        keys_.push_back(maker_.exists(memory::object_class::evaluation_key, shape.half_bytes,
                                      1 + k * shape.halves + h, way));
      }
    }
    for (unsigned i = 0; i < shape.ciphertexts; ++i)
      live_.push_back(maker_.exists(memory::object_class::ciphertext, shape.ciphertext_bytes, 1'000'000 + i));
    std::vector<double> weights;
    for (unsigned k = 0; k < shape.keys; ++k) weights.push_back(1 / std::pow(k + 1, shape.zipf));
    std::discrete_distribution<unsigned> key(weights.begin(), weights.end());
    for (unsigned i = 0; i < shape.switches; ++i) rotate(key(random_));
  }

  [[nodiscard]] const memory::trace& trace() const { return maker_.result(); }

 private:
  std::uint32_t below(std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random_);
  }

  void rotate(unsigned key) {
    const unsigned digits = shape_.halves / 2, level = below(shape_.levels);
    const unsigned products = (digits + shape_.digits_per_step - 1) / shape_.digits_per_step;
    const std::uint64_t part = shape_.half_bytes * (level + 1) / shape_.levels;
    const std::uint64_t step_ns = shape_.switch_ns / (products + 2);
    const std::uint64_t raised = maker_.allocate(memory::object_class::scratch, shape_.ciphertext_bytes * 2);
    maker_.set_op("mod_up");
    maker_.read(live_[below(shape_.ciphertexts)]);
    maker_.write(raised);
    maker_.end_step(step_ns);
    const std::uint64_t sum = maker_.allocate(memory::object_class::scratch, shape_.ciphertext_bytes * 2);
    maker_.set_op("key_multiply_accumulate");
    for (unsigned d = 0; d < digits; ++d) {
      if (d % shape_.digits_per_step == 0) maker_.read(raised);
      for (unsigned h = 2 * d; h < 2 * d + 2; ++h) maker_.read(keys_[key * shape_.halves + h], part);
      if ((d + 1) % shape_.digits_per_step != 0 && d + 1 != digits) continue;
      maker_.write(sum);
      maker_.end_step(step_ns);
    }
    maker_.free(raised);
    const std::uint64_t rotated = maker_.allocate(memory::object_class::ciphertext, shape_.ciphertext_bytes);
    maker_.set_op("mod_down");
    maker_.read(sum);
    maker_.write(rotated);
    maker_.end_step(step_ns);
    maker_.free(sum);
    std::uint64_t& replaced = live_[below(shape_.ciphertexts)];
    maker_.free(replaced);
    replaced = rotated;
  }

  key_switch_shape shape_;
  std::mt19937 random_;
  trace_maker maker_;
  std::vector<std::uint64_t> keys_, live_;
};

}  // namespace halocline::test

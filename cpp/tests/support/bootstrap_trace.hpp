// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/trace_writer.hpp"

namespace halocline::test {

/// Shape of a program like a bootstrap: sizes as they are for N = 2^16, 32-bit words.
struct bootstrap_shape {
  std::uint64_t limb_bytes = 1 << 18;
  std::uint64_t limbs = 46;    ///< of a ciphertext component
  std::uint64_t special = 12;  ///< special primes
  std::uint64_t digits = 4;
  unsigned stages = 6;  ///< linear transforms: baby steps, then giant steps, with keys of their own
  unsigned babies = 7;
  unsigned giants = 4;
  unsigned multiplications = 12;  ///< between the two halves of the stages
  unsigned repetitions = 4;       ///< phases are "bootstrap R/rotate N", "bootstrap R/multiply N" and so on
};

/// Steps and buffers of the library's key switch (`ckks::evaluator::rotate` and `multiply` on the ghost
/// backend), in the order of use of a bootstrap with baby and giant steps.
class bootstrap_writer {
 public:
  bootstrap_writer(const memory::sim::device_model& clock, const bootstrap_shape& shape)
      : out_(clock), shape_(shape) {
    roots_ = out_.existing(memory::object_class::table, 4 * shape.limb_bytes * (shape.limbs + shape.special),
                           "ring.roots");
    relinearization_ = key();
    for (unsigned s = 0; s < shape.stages; ++s) {
      for (unsigned i = 0; i < shape.babies + shape.giants; ++i) rotations_.push_back(key());
      for (unsigned i = 0; i < shape.babies * shape.giants; ++i) {
        diagonals_.push_back(out_.existing(memory::object_class::plaintext, component(), "plaintext"));
      }
    }
  }

  memory::trace write() {
    std::uint64_t x = ciphertext();
    for (unsigned r = 0; r < shape_.repetitions; ++r) {
      repetition_ = "bootstrap " + std::to_string(r) + "/";
      for (unsigned s = 0; s < shape_.stages; ++s) {
        if (s == shape_.stages / 2) {
          for (unsigned m = 0; m < shape_.multiplications; ++m) {
            const std::uint64_t product = multiply(x);
            out_.free(x);
            x = product;
          }
        }
        x = transform(x, s);
      }
    }
    return out_.result();
  }

  /// Benchmark of single operations, as in section III-A of the hybrid paper: each iteration multiplies,
  /// rotates by an irregular step and conjugates.
  memory::trace write_operations(unsigned iterations) {
    const std::uint64_t x = ciphertext();
    std::uint64_t random = 1;
    repetition_ = "operations/";
    for (unsigned i = 0; i < iterations; ++i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      out_.free(multiply(x));
      for (const char* operation : {"rotate", "conjugate"}) {
        begin(operation);
        const std::size_t key = *operation == 'c' ? 0 : 1 + (random >> 33) % (rotations_.size() - 1);
        const std::vector<std::uint64_t> digits = mod_up(x);
        const std::uint64_t result = switch_key(digits, rotations_[key]);
        release(digits);
        out_.free(result);
      }
    }
    return out_.result();
  }

 private:
  void begin(const char* operation) {
    out_.phase(repetition_ + operation + " " + std::to_string(operations_++));
  }
  [[nodiscard]] std::uint64_t component() const { return shape_.limbs * shape_.limb_bytes; }
  [[nodiscard]] std::uint64_t raised() const { return (shape_.limbs + shape_.special) * shape_.limb_bytes; }
  std::vector<std::uint64_t> key() {
    std::vector<std::uint64_t> halves;
    for (std::uint64_t i = 0; i < 2 * shape_.digits; ++i) {
      halves.push_back(out_.existing(memory::object_class::evaluation_key, raised(), "evaluation_key"));
    }
    return halves;
  }
  // Both components in one buffer: what matters here is the bytes.
  std::uint64_t ciphertext() {
    return out_.allocate(memory::object_class::ciphertext, 2 * component(), "ciphertext");
  }
  std::uint64_t scratch(std::uint64_t bytes, const char* tag) {
    return out_.allocate(memory::object_class::scratch, bytes, tag);
  }

  /// Digits of one polynomial, raised: what hoisted rotations share.
  std::vector<std::uint64_t> mod_up(std::uint64_t source) {
    const std::uint64_t coefficients = scratch(component(), "mod_up.coefficients");
    out_.step("intt", {{source, false}, {roots_, false}, {coefficients, true}});
    std::vector<std::uint64_t> digits;
    std::vector<trace_writer::access> conversion{{coefficients, false}};
    std::vector<trace_writer::access> transform{{roots_, false}};
    for (std::uint64_t i = 0; i < shape_.digits; ++i) {
      digits.push_back(scratch(raised(), "mod_up.digit"));
      conversion.push_back({digits.back(), true});
      transform.push_back({digits.back(), false});
      transform.push_back({digits.back(), true});
    }
    out_.step("base_convert", conversion);
    out_.free(coefficients);
    out_.step("ntt", transform);
    return digits;
  }
  /// Product of digits and key, divided by P.
  std::uint64_t switch_key(const std::vector<std::uint64_t>& digits, const std::vector<std::uint64_t>& key) {
    const std::uint64_t product = scratch(2 * raised(), "key_switch.product");
    std::vector<trace_writer::access> operands{{product, true}};
    for (const std::uint64_t each : digits) operands.push_back({each, false});
    for (const std::uint64_t each : key) operands.push_back({each, false});
    out_.step("key_multiply_accumulate", operands);
    const std::uint64_t small = scratch(2 * shape_.special * shape_.limb_bytes, "mod_down.special");
    const std::uint64_t converted = scratch(2 * component(), "mod_down.converted");
    out_.step("intt", {{product, false}, {small, true}});
    out_.step("base_convert", {{small, false}, {converted, true}});
    const std::uint64_t result = ciphertext();
    out_.step("ntt_linear_combine", {{converted, false}, {product, false}, {roots_, false}, {result, true}});
    for (const std::uint64_t each : {converted, small, product}) out_.free(each);
    return result;
  }
  void release(const std::vector<std::uint64_t>& all) {
    for (const std::uint64_t each : all) out_.free(each);
  }

  std::uint64_t multiply(std::uint64_t x) {
    begin("multiply");
    const std::uint64_t tensor = scratch(3 * component(), "multiply.tensor");
    out_.step("tensor", {{x, false}, {tensor, true}});
    const std::vector<std::uint64_t> digits = mod_up(tensor);
    const std::uint64_t result = switch_key(digits, relinearization_);
    release(digits);
    out_.free(tensor);
    return result;
  }
  std::uint64_t transform(std::uint64_t x, unsigned stage) {
    const unsigned first = stage * (shape_.babies + shape_.giants);
    begin("raise");
    const std::vector<std::uint64_t> digits = mod_up(x);
    std::vector<std::uint64_t> turned;
    for (unsigned b = 0; b < shape_.babies; ++b) {
      begin("rotate");
      turned.push_back(switch_key(digits, rotations_[first + b]));
    }
    release(digits);
    out_.free(x);
    std::uint64_t sum = ciphertext();
    out_.step("set_zero", {{sum, true}});
    for (unsigned g = 0; g < shape_.giants; ++g) {
      begin("dot");
      const std::uint64_t inner = ciphertext();
      std::vector<trace_writer::access> operands{{inner, true}};
      for (unsigned b = 0; b < shape_.babies; ++b) {
        operands.push_back({turned[b], false});
        operands.push_back({diagonals_[(stage * shape_.giants + g) * shape_.babies + b], false});
      }
      out_.step("dot", operands);
      begin("rotate");
      const std::vector<std::uint64_t> raised_inner = mod_up(inner);
      const std::uint64_t moved = switch_key(raised_inner, rotations_[first + shape_.babies + g]);
      release(raised_inner);
      out_.step("add", {{sum, false}, {moved, false}, {sum, true}});
      out_.free(inner);
      out_.free(moved);
    }
    release(turned);
    return sum;
  }

  trace_writer out_;
  std::string repetition_;
  unsigned operations_ = 0;
  bootstrap_shape shape_;
  std::uint64_t roots_ = 0;
  std::vector<std::uint64_t> relinearization_;
  std::vector<std::vector<std::uint64_t>> rotations_;
  std::vector<std::uint64_t> diagonals_;
};

/// Trace of a program like a bootstrap; its times are those of `clock`.
[[nodiscard]] inline memory::trace make_bootstrap_trace(const memory::sim::device_model& clock,
                                                        const bootstrap_shape& shape = {}) {
  return bootstrap_writer(clock, shape).write();
}

}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
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

  /// One operation; touches all bytes of its operands.
  void step(const std::string& op, std::initializer_list<access> operands) {
    step(op, std::vector<access>(operands));
  }
  void step(const std::string& op, const std::vector<access>& operands) {
    double bytes = 0;
    for (const access& each : operands) {
      const std::uint64_t size = objects_[each.object].bytes;
      row(each.write ? memory::trace_action::write : memory::trace_action::read, op, each.object, 0, size);
      bytes += static_cast<double>(size);
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
  unsigned repetitions = 4;       ///< each is a phase "bootstrap"
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
      // Two phases with the same name are one; the empty one parts them.
      out_.phase("bootstrap");
      for (unsigned s = 0; s < shape_.stages; ++s) {
        if (s == shape_.stages / 2) {
          for (unsigned m = 0; m < shape_.multiplications; ++m) x = multiply(x);
        }
        x = transform(x, s);
      }
      out_.phase("");
      const std::uint64_t next = ciphertext();
      out_.step("add", {{x, false}, {next, true}});
      out_.free(x);
      x = next;
    }
    return out_.result();
  }

 private:
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
    const std::uint64_t tensor = scratch(3 * component(), "multiply.tensor");
    out_.step("tensor", {{x, false}, {tensor, true}});
    out_.free(x);
    const std::vector<std::uint64_t> digits = mod_up(tensor);
    const std::uint64_t result = switch_key(digits, relinearization_);
    release(digits);
    out_.free(tensor);
    return result;
  }
  std::uint64_t transform(std::uint64_t x, unsigned stage) {
    const unsigned first = stage * (shape_.babies + shape_.giants);
    const std::vector<std::uint64_t> digits = mod_up(x);
    std::vector<std::uint64_t> turned;
    for (unsigned b = 0; b < shape_.babies; ++b) turned.push_back(switch_key(digits, rotations_[first + b]));
    release(digits);
    out_.free(x);
    std::uint64_t sum = ciphertext();
    out_.step("set_zero", {{sum, true}});
    for (unsigned g = 0; g < shape_.giants; ++g) {
      const std::uint64_t inner = ciphertext();
      std::vector<trace_writer::access> operands{{inner, true}};
      for (unsigned b = 0; b < shape_.babies; ++b) {
        operands.push_back({turned[b], false});
        operands.push_back({diagonals_[(stage * shape_.giants + g) * shape_.babies + b], false});
      }
      out_.step("dot", operands);
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

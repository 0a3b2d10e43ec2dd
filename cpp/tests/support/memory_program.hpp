// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "halocline/memory/object_class.hpp"

/// Random programs for memory runtimes; `memory_machine` executes them.
namespace halocline::test {

/// One thing that a program does.
struct memory_instruction {
  enum class kind { allocate, free, step } what{};
  std::size_t object = 0;                                  ///< allocate, free
  std::vector<std::pair<std::size_t, std::size_t>> reads;  ///< step: (object, bytes from its begin)
  std::vector<std::size_t> writes;                         ///< step: objects written as a whole
};

/// Keys that are there before (0 to `keys` - 1), then what happens. Oblivious: nothing depends on contents.
struct memory_program {
  struct object {
    std::size_t bytes = 0;
    memory::object_class cls{};
  };
  std::vector<object> objects;
  std::size_t keys = 0;
  std::vector<memory_instruction> instructions;
};

/// How large a random program is.
struct program_shape {
  std::size_t keys = 12;
  std::size_t steps = 120;
  std::size_t largest_pages = 12;
};

/// A program of steps that read a few keys (or a prefix of one) and ciphertexts and write ciphertexts, with
/// scratch in between.
class program_maker {
 public:
  program_maker(std::uint64_t seed, const program_shape& shape) : random_(seed), shape_(shape) {}

  [[nodiscard]] memory_program make() {
    for (std::size_t i = 0; i < shape_.keys; ++i) add(memory::object_class::evaluation_key);
    made_.keys = shape_.keys;
    for (std::size_t i = 0; i < 2; ++i) ciphertexts_.push_back(fresh(memory::object_class::ciphertext));
    for (std::size_t i = 0; i < shape_.steps; ++i) step();
    return std::move(made_);
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  std::size_t add(memory::object_class cls) {
    // Odd sizes: the last page is never full.
    made_.objects.push_back({below(shape_.largest_pages) * 4096 + 1 + below(4096), cls});
    return made_.objects.size() - 1;
  }

  std::size_t fresh(memory::object_class cls) {
    const std::size_t object = add(cls);
    made_.instructions.push_back({memory_instruction::kind::allocate, object, {}, {}});
    made_.instructions.push_back({memory_instruction::kind::step, 0, {}, {object}});
    return object;
  }

  void free(std::size_t object) {
    made_.instructions.push_back({memory_instruction::kind::free, object, {}, {}});
  }

  void step() {
    const std::size_t scratch = fresh(memory::object_class::scratch);
    memory_instruction work{memory_instruction::kind::step, 0, {}, {scratch}};
    const std::size_t key = below(made_.keys);
    const std::size_t bytes = made_.objects[key].bytes;
    work.reads.emplace_back(key, below(3) == 0 ? 1 + below(bytes) : bytes);
    const std::size_t source = ciphertexts_[below(ciphertexts_.size())];
    work.reads.emplace_back(source, made_.objects[source].bytes);
    made_.instructions.push_back(work);
    const std::size_t target = below(4) == 0 ? source : fresh(memory::object_class::ciphertext);
    const std::size_t all = made_.objects[scratch].bytes;
    made_.instructions.push_back({memory_instruction::kind::step, 0, {{scratch, all}}, {target}});
    free(scratch);
    if (target != source) ciphertexts_.push_back(target);
    if (ciphertexts_.size() > 6) {
      const std::size_t gone = below(ciphertexts_.size());
      free(ciphertexts_[gone]);
      ciphertexts_.erase(ciphertexts_.begin() + static_cast<std::ptrdiff_t>(gone));
    }
  }

  std::mt19937_64 random_;
  program_shape shape_;
  memory_program made_;
  std::vector<std::size_t> ciphertexts_;
};

/// Largest sum of bytes, in whole pages, of what is live at once: a budget in which everything fits.
inline std::size_t live_bytes_of(const memory_program& program) {
  const auto pages = [&](std::size_t object) { return (program.objects[object].bytes + 4095) / 4096 * 4096; };
  std::size_t live = 0;
  for (std::size_t i = 0; i < program.keys; ++i) live += pages(i);
  std::size_t peak = live;
  for (const memory_instruction& each : program.instructions) {
    if (each.what == memory_instruction::kind::allocate) live += pages(each.object);
    if (each.what == memory_instruction::kind::free) live -= pages(each.object);
    peak = std::max(peak, live);
  }
  return peak;
}

}  // namespace halocline::test

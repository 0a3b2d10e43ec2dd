// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/recipe.hpp"
#include "halocline/memory/runtime.hpp"
#include "support/machine_hands.hpp"
#include "support/memory_program.hpp"
#include "support/pattern_contents.hpp"

namespace halocline::test {

/// Executes a program on a runtime, checks every byte that a step reads, and the budget after every step.
class memory_machine {
 public:
  /// Where the contents of keys are at first.
  enum class keys_are { written, remote };
  /// Called after each instruction.
  using observer = std::function<void(memory::runtime&)>;

  memory_machine(std::shared_ptr<memory::runtime> runtime, const memory_program& program,
                 std::shared_ptr<machine_hands> hands = std::make_shared<direct_hands>(),
                 keys_are keys = keys_are::written, const std::function<bool()>& fails = {})
      : runtime_(std::move(runtime)), program_(program), hands_(std::move(hands)) {
    for (std::size_t i = 0; i < program_.keys; ++i) {
      allocate(i);
      runtime_->set_identity(buffers_.at(i), i + 1);
      if (keys == keys_are::written) {
        write(i);
        continue;
      }
      const std::size_t bytes = program_.objects[i].bytes;
      runtime_->set_remote(buffers_.at(i), std::make_shared<pattern_contents>(i, bytes, fails));
      versions_[i] = 1;
    }
  }

  /// A key, for calls of the runtime that a program does not make.
  [[nodiscard]] const memory::buffer& key(std::size_t number) const { return buffers_.at(number); }

  /// Lets the keys come back by computing them.
  void give_recipes(memory::recovery kind) {
    for (std::size_t i = 0; i < program_.keys; i += 2) {
      runtime_->set_recipe(buffers_.at(i), std::make_shared<pattern_recipe>(*runtime_, *hands_, kind, i));
    }
  }

  void run(const observer& after = [](const memory::runtime&) {}) {
    while (next_ < program_.instructions.size()) {
      execute(program_.instructions[next_]);
      ++next_;
      after(*runtime_);
    }
  }

  /// Goes on after an error with the instruction that failed.
  void resume() { run(); }

  /// Goes on after an error with the next instruction. What it was to write keeps what it had.
  void skip() { ++next_; }

  /// Reads every object that was ever written, and returns how many are lost.
  [[nodiscard]] std::size_t count_lost() {
    std::size_t lost = 0;
    for (const auto& [object, data] : buffers_) {
      try {
        if (versions_[object] != 0) check({{object, data.size()}}, {});
      } catch (const corrupt_data&) {
        ++lost;
      }
    }
    return lost;
  }

  /// Reads everything that is still there and was ever written.
  void check_all() {
    for (const auto& [object, data] : buffers_) {
      if (versions_[object] != 0) check({{object, data.size()}}, {});
    }
    hands_->finish();
  }

  [[nodiscard]] std::size_t live() const { return buffers_.size(); }
  void clear() { buffers_.clear(); }

 private:
  class pattern_recipe final : public memory::recipe {
   public:
    pattern_recipe(memory::runtime& runtime, machine_hands& hands, memory::recovery kind, std::size_t object)
        : runtime_(runtime), hands_(hands), kind_(kind), object_(object) {}
    [[nodiscard]] memory::recovery kind() const noexcept override { return kind_; }
    void regenerate(const memory::buffer& target, std::size_t bytes) const override {
      const memory::operand part{&target, 0, bytes};
      const memory::access at = runtime_.acquire({}, {&part, 1}, "regenerate");
      std::byte* const data = at.pointer(target);
      if (data != nullptr) hands_.write(data, contents_of(object_, 1, bytes));
    }

   private:
    memory::runtime& runtime_;
    machine_hands& hands_;
    memory::recovery kind_;
    std::size_t object_;
  };

  void allocate(std::size_t object) {
    const auto& [bytes, cls] = program_.objects[object];
    buffers_.insert_or_assign(object, runtime_->allocate(bytes, cls, "object"));
  }

  void write(std::size_t object) { check({}, {object}); }

  void execute(const memory_instruction& each) {
    switch (each.what) {
      case memory_instruction::kind::allocate:
        return allocate(each.object);
      case memory_instruction::kind::free:
        buffers_.erase(each.object);
        return;
      case memory_instruction::kind::step:
        check(each.reads, each.writes);
    }
  }

  /// One step: compares what it reads and fills what it writes with the next version.
  void check(const std::vector<std::pair<std::size_t, std::size_t>>& reads,
             const std::vector<std::size_t>& writes) {
    std::vector<memory::operand> in;
    std::vector<memory::operand> out;
    for (const auto& [object, bytes] : reads) in.push_back({&buffers_.at(object), 0, bytes});
    for (const std::size_t object : writes) {
      out.push_back({&buffers_.at(object), 0, program_.objects[object].bytes});
    }
    const memory::access at = runtime_->acquire(in, out, writes.empty() ? "look" : "work");
    for (const auto& [object, bytes] : reads) compare(at.pointer(buffers_.at(object)), object, bytes);
    for (const std::size_t object : writes) {
      std::byte* const data = at.pointer(buffers_.at(object));
      const std::uint64_t version = ++versions_[object];  // the step has all it needs: it cannot fail now
      if (data != nullptr) hands_->write(data, contents_of(object, version, program_.objects[object].bytes));
    }
  }

  static std::vector<std::byte> contents_of(std::size_t object, std::uint64_t version, std::size_t bytes) {
    std::vector<std::byte> result(bytes);
    for (std::size_t i = 0; i < bytes; ++i) result[i] = expected_byte(object, version, i);
    return result;
  }

  void compare(const std::byte* data, std::size_t object, std::size_t bytes) {
    if (data == nullptr || versions_[object] == 0) return;
    hands_->read(data, bytes, [=, version = versions_[object]](const std::byte* seen) {
      for (std::size_t i = 0; i < bytes; ++i) {
        if (seen[i] == expected_byte(object, version, i)) continue;
        ADD_FAILURE() << "object " << object << " has a wrong byte " << i << " of " << bytes;
        return;
      }
    });
  }

  std::shared_ptr<memory::runtime> runtime_;
  const memory_program& program_;
  std::shared_ptr<machine_hands> hands_;
  std::size_t next_ = 0;
  std::map<std::size_t, memory::buffer> buffers_;
  std::map<std::size_t, std::uint64_t> versions_;
};

}  // namespace halocline::test

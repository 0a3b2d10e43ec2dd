// SPDX-License-Identifier: Apache-2.0
#include "halocline/backend/scoped_operation.hpp"

#include <atomic>

#include "backend/operation_stack.hpp"

namespace halocline::backend {
namespace {

std::atomic<const operation_hooks*> hooks_of_process{nullptr};

}  // namespace

operation_stack& this_thread_operations() noexcept {
  thread_local operation_stack stack;
  return stack;
}

void set_operation_hooks(const operation_hooks* hooks) noexcept {
  hooks_of_process.store(hooks, std::memory_order_release);
}

scoped_operation::scoped_operation(const char* name) noexcept {
  operation_stack& stack = this_thread_operations();
  if (stack.depth == 0) ++stack.serial;
  if (stack.depth < operation_stack::capacity) stack.names[stack.depth] = name;
  ++stack.depth;
  if (const operation_hooks* hooks = hooks_of_process.load(std::memory_order_acquire)) hooks->begin(name);
}

scoped_operation::~scoped_operation() {
  --this_thread_operations().depth;
  if (const operation_hooks* hooks = hooks_of_process.load(std::memory_order_acquire)) hooks->end();
}

}  // namespace halocline::backend

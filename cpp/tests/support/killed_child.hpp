// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

#include "support/forked.hpp"

namespace halocline::test {

/// How a child ended that was to be killed at a system call.
enum class child_end : std::uint8_t {
  killed,
  finished,     ///< before that call, with exit code 0
  failed,       ///< with another one
  untraceable,  ///< this system lets no process trace its children
};

/// Runs `body` in a forked child and kills it, as `kill -9` does, before its system call number `call`
/// (counted from 1). In a loop over `call` until it finishes it is killed at every one of them.
template <typename BodyT>
child_end kill_at_call(std::uint64_t call, BodyT body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(child_seconds);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(254);
    ::raise(SIGSTOP);
    int code = 255;
    try {
      body();
      code = 0;
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  std::uint64_t stops = 0;  // each call has one before and one after
  int signal = 0;
  for (::waitpid(child, &status, 0); WIFSTOPPED(status); ::waitpid(child, &status, 0)) {
    if (WSTOPSIG(status) == SIGTRAP) {
      if (++stops == 2 * call - 1) ::kill(child, SIGKILL);
      signal = 0;
    } else {
      signal = WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
    }
    ::ptrace(PTRACE_SYSCALL, child, nullptr, signal);
  }
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGKILL ? child_end::killed : child_end::failed;
  if (WEXITSTATUS(status) == 254) return child_end::untraceable;
  return WEXITSTATUS(status) == 0 ? child_end::finished : child_end::failed;
}

}  // namespace halocline::test

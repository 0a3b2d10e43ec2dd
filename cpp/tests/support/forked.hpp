// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <utility>

namespace halocline::test {

/// Seconds after which a child that hangs is ended by SIGALRM.
inline constexpr unsigned child_seconds = 60;

/// Runs `body` in a forked child and returns the exit code: what `body` returned, or 255 when it threw; -1
/// when the child was ended by a signal, SIGALRM where it hung.
template <typename BodyT>
int exit_code_of_child(BodyT body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(child_seconds);
    int code = 255;
    try {
      code = body();
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// What `body` returns in a forked child: bytes of a trivial type. All zeros when it threw.
template <typename ValueT, typename BodyT>
ValueT value_of_child(BodyT body) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const int code = exit_code_of_child([&] {
    const ValueT value = body();
    return ::write(ends[1], &value, sizeof(value)) == static_cast<ssize_t>(sizeof(value)) ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  ::close(ends[1]);
  ValueT result{};
  EXPECT_EQ(::read(ends[0], &result, sizeof(result)), static_cast<ssize_t>(sizeof(result)));
  ::close(ends[0]);
  return result;
}

}  // namespace halocline::test

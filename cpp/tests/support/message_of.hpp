// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace halocline::test {

/// Message of the `ErrorT` that `action` throws; says so when it throws something else or nothing.
template <typename ErrorT, typename ActionT>
[[nodiscard]] std::string message_of(const ActionT& action) {
  try {
    action();
  } catch (const ErrorT& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("another exception: ") + e.what();
  }
  return "no exception";
}

}  // namespace halocline::test

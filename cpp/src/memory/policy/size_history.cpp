// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/size_history.hpp"

namespace halocline::memory {

void on_allocate(size_history& history, std::size_t length) {
  history.recent.push_back(++history.live);
  if (history.recent.size() > length) {
    history.recent.erase(history.recent.begin(), history.recent.end() - static_cast<std::ptrdiff_t>(length));
  }
}

void on_free(size_history& history) noexcept {
  if (history.live > 0) --history.live;
}

}  // namespace halocline::memory

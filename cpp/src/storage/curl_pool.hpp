// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"
#include "halocline/core/process.hpp"

namespace halocline::storage {

struct curl_deleter {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};
using multi_handle = std::unique_ptr<CURLM, curl_deleter>;

/// Idle multi handles with their open connections: one call of `perform` uses one handle. A forked child
/// shares the sockets of its parent and must not write to them, not even to close them in an orderly way: it
/// abandons the handles.
class curl_pool {
 public:
  curl_pool() {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    HALOCLINE_EXPECTS(started == CURLE_OK, io_error, "cannot start libcurl: ", curl_easy_strerror(started));
  }
  ~curl_pool() { leave_to_parent(); }
  curl_pool(const curl_pool&) = delete;
  curl_pool& operator=(const curl_pool&) = delete;

  [[nodiscard]] multi_handle take() {
    const std::scoped_lock lock(mutex_);
    leave_to_parent();
    if (!idle_.empty()) {
      multi_handle last = std::move(idle_.back());
      idle_.pop_back();
      return last;
    }
    multi_handle made(curl_multi_init());
    HALOCLINE_EXPECTS(made, io_error, "cannot make a handle of libcurl: out of memory");
    return made;
  }
  void give(multi_handle handle) {
    const std::scoped_lock lock(mutex_);
    if (owner_ == ::getpid()) idle_.push_back(std::move(handle));
  }

 private:
  void leave_to_parent() noexcept {
    if (owner_ == ::getpid()) return;
    for (multi_handle& each : idle_) static_cast<void>(each.release());
    idle_.clear();
    owner_ = ::getpid();
  }

  fork_mutex mutex_{fork_order::table};
  std::vector<multi_handle> idle_;
  ::pid_t owner_ = ::getpid();
};

}  // namespace halocline::storage

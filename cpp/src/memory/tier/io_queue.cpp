// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/io_queue.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "halocline/core/expects.hpp"
#include "memory/tier/io_engines.hpp"

namespace halocline::memory {
namespace {

constexpr unsigned largest_depth = 4096;

class deaf_listener final : public io_listener {
 public:
  void ended(const io_request&, std::size_t, int) noexcept override {}
};

}  // namespace

void waiting_requests::add(std::span<const io_request> requests) {
  requests_.insert(requests_.end(), requests.begin(), requests.end());
}

void waiting_requests::prioritize(std::uint64_t tag) {
  std::stable_partition(requests_.begin(), requests_.end(),
                        [tag](const io_request& each) { return each.tag == tag; });
}

io_request waiting_requests::take() noexcept {
  const io_request first = requests_.front();
  requests_.pop_front();
  return first;
}

signals_blocked::signals_blocked() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old_);
}

signals_blocked::~signals_blocked() { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }

bool is_transient(int error) noexcept { return error == EINTR || error == EAGAIN; }

int true_error(const io_request& request, int error) noexcept {
  struct stat file {};
  if (error != EINVAL || request.write || ::fstat(request.file, &file) != 0) return error;
  const auto length = static_cast<std::uint64_t>(file.st_size);
  return length < request.offset + request.bytes ? io_end_of_file : error;
}

std::unique_ptr<io_queue> make_io_queue(io_listener& listener, io_engine engine, unsigned depth) {
  HALOCLINE_EXPECTS(depth >= 1 && depth <= largest_depth, invalid_argument, "I/O queue: a depth of ", depth,
                    " is outside 1 to ", largest_depth);
  if (engine != io_engine::threads) {
    const char* reason = "";
    std::unique_ptr<io_queue> queue = make_uring_queue(listener, depth, reason);
    if (queue != nullptr) return queue;
    HALOCLINE_EXPECTS(engine == io_engine::automatic, io_error, "I/O queue: no io_uring here (", reason,
                      "); choose the engine 'automatic' or 'threads'");
  }
  return make_thread_queue(listener, depth);
}

bool has_io_uring() noexcept {
  try {
    const char* reason = "";
    deaf_listener listener;
    return make_uring_queue(listener, 1, reason) != nullptr;
  } catch (...) {  // no thread, no memory: not to be had
    return false;
  }
}

}  // namespace halocline::memory

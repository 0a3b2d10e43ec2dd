// SPDX-License-Identifier: Apache-2.0
#include "halocline/core/process.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <new>

namespace halocline {
namespace {

/// Locks beside contexts are held for moments only.
constexpr std::chrono::seconds patience_with_hooks{1};

/// The number of this process lies in a page that the kernel zeroes in every child, so that 0 says "forked".
class generation_word {
 public:
  generation_word() noexcept : pid_(::getpid()) {
    const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
      word_ = new (page) std::atomic<std::uint64_t>(1);
#ifdef MADV_WIPEONFORK
      wiped_ = ::madvise(page, bytes, MADV_WIPEONFORK) == 0;
#endif
    }
  }

  [[nodiscard]] std::uint64_t get() noexcept {
    const std::uint64_t now = word_->load(std::memory_order_acquire);
    if (now != 0 && (wiped_ || pid_.load(std::memory_order_relaxed) == ::getpid())) return now;
    return renew(now);
  }

  /// Where the page is not wiped, this handler sets the number in children of `fork`.
  void forked() noexcept {
    if (wiped_) return;
    pid_.store(::getpid(), std::memory_order_relaxed);
    word_->store(0, std::memory_order_release);
  }

 private:
  /// Threads of a new process may race here: all return the number that the first of them stores.
  [[nodiscard]] std::uint64_t renew(std::uint64_t seen) noexcept {
    const std::uint64_t next = last_.load(std::memory_order_acquire) + 1;
    if (word_->compare_exchange_strong(seen, next, std::memory_order_acq_rel)) {
      last_.store(next, std::memory_order_release);
      pid_.store(::getpid(), std::memory_order_relaxed);
      return next;
    }
    return seen;
  }

  std::atomic<std::uint64_t> without_page_{1};
  std::atomic<std::uint64_t>* word_ = &without_page_;
  bool wiped_ = false;
  std::atomic<std::uint64_t> last_{1};  ///< not wiped: the number of the parent, in a child
  std::atomic<pid_t> pid_;
};

thread_local unsigned depth = 0;  ///< scopes of `fork_gate` in this thread

/// Everything that a fork goes through. Lives until the process is gone, because threads may be at work while
/// static objects are destroyed.
class registry {
 public:
  static registry& instance() noexcept {
    static registry& only = *new registry;
    return only;
  }

  generation_word generation;

  std::list<fork_hook::entry>::iterator add(fork_order when, fork_actions actions) {
    const std::lock_guard lock(hooks_mutex_);
    const auto behind = std::find_if(hooks_.begin(), hooks_.end(),
                                     [when](const fork_hook::entry& each) { return each.when > when; });
    return hooks_.insert(behind, {when, std::move(actions), false});
  }
  void remove(std::list<fork_hook::entry>::iterator place) noexcept {
    const std::lock_guard lock(hooks_mutex_);
    hooks_.erase(place);
  }

  void enter() noexcept {
    std::unique_lock lock(gate_mutex_);
    changed_.wait(lock, [this] { return forks_ == 0; });
    ++inside_;
  }
  void leave() noexcept {
    const std::lock_guard lock(gate_mutex_);
    --inside_;
    if (forks_ != 0) changed_.notify_all();
  }

 private:
  registry() noexcept {
    // Without the handlers only the generation still works, which needs none.
    static_cast<void>(::pthread_atfork([] { instance().before(); }, [] { instance().in_parent(); },
                                       [] { instance().in_child(); }));
  }

  void before() noexcept {
    {
      std::unique_lock lock(gate_mutex_);
      ++forks_;
      const unsigned own = depth != 0 ? 1 : 0;
      changed_.wait_for(lock, fork_gate::patience, [&] { return inside_ == own; });
    }
    hooks_mutex_.lock();
    const fork_deadline until = std::chrono::steady_clock::now() + patience_with_hooks;
    for (fork_hook::entry& each : hooks_) each.held = each.actions.hold(until);
  }

  void in_parent() noexcept {
    for (auto each = hooks_.rbegin(); each != hooks_.rend(); ++each) {
      if (each->held) each->actions.resume();
    }
    hooks_mutex_.unlock();
    const std::lock_guard lock(gate_mutex_);
    --forks_;
    changed_.notify_all();
  }

  void in_child() noexcept {
    generation.forked();
    for (auto each = hooks_.rbegin(); each != hooks_.rend(); ++each) each->actions.in_child(each->held);
    renew_in_child(hooks_mutex_);
    renew_in_child(gate_mutex_);
    renew_in_child(changed_);
    inside_ = depth != 0 ? 1 : 0;
    forks_ = 0;
  }

  std::mutex hooks_mutex_;
  std::list<fork_hook::entry> hooks_;  ///< in the order of `fork_order`
  std::mutex gate_mutex_;
  std::condition_variable changed_;
  unsigned inside_ = 0;  ///< threads
  unsigned forks_ = 0;   ///< under way
};

}  // namespace

std::uint64_t process_generation() noexcept { return registry::instance().generation.get(); }

fork_hook::fork_hook(fork_order when, fork_actions actions)
    : place_(registry::instance().add(when, std::move(actions))) {}
fork_hook::~fork_hook() { registry::instance().remove(place_); }

void fork_gate::enter() noexcept {
  if (depth++ == 0) registry::instance().enter();
}
void fork_gate::leave() noexcept {
  if (--depth == 0) registry::instance().leave();
}

}  // namespace halocline

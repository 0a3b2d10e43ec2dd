// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/io_queue.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "halocline/core/error.hpp"
#include "support/file_size_limit.hpp"
#include "support/message_of.hpp"
#include "support/page_frame.hpp"
#include "support/process_counts.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace halocline;
using namespace halocline::memory;
using halocline::test::page_frame;

/// Collects what ended, in the order in which it did.
class collector final : public io_listener {
 public:
  struct end {
    std::uint64_t tag;
    std::size_t moved;
    int error;
  };

  void ended(const io_request& request, std::size_t moved, int error) noexcept override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
    ends_.push_back({request.tag, moved, error});
    changed_.notify_all();
  }
  /// Holds up the threads that report ends, until `open`.
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] std::vector<end> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ends_.size() >= count; });
    return ends_;
  }
  [[nodiscard]] std::size_t count() {
    const std::lock_guard lock(mutex_);
    return ends_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  std::vector<end> ends_;
};

/// Each test runs with each engine, on a file of `file_bytes` bytes whose page p holds the pattern p.
class IoQueue : public testing::TestWithParam<io_engine> {
 protected:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t pages = 256;

  void SetUp() override {
    if (GetParam() == io_engine::io_uring && !has_io_uring()) GTEST_SKIP() << "no io_uring on this machine";
    file_ = ::open((folder_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(file_, 0);
    for (std::size_t p = 0; p < pages; ++p) {
      const page_frame content(page, p);
      ASSERT_EQ(::pwrite(file_, content.data(), page, static_cast<off_t>(p * page)),
                static_cast<ssize_t>(page));
    }
  }
  void TearDown() override {
    if (file_ >= 0) ::close(file_);
  }

  [[nodiscard]] std::unique_ptr<io_queue> make(unsigned depth) {
    return make_io_queue(ends_, GetParam(), depth);
  }
  [[nodiscard]] io_request read_page(std::size_t p, const page_frame& into, std::uint64_t tag) const {
    return {file_, false, p * page, into.data(), into.size(), tag};
  }

  test::temporary_folder folder_;
  int file_ = -1;
  collector ends_;
};

INSTANTIATE_TEST_SUITE_P(Engines, IoQueue, testing::Values(io_engine::io_uring, io_engine::threads),
                         [](const auto& each) {
                           return each.param == io_engine::threads ? "Threads" : "IoUring";
                         });

TEST_P(IoQueue, RunsManyMoreRequestsThanItsDepth) {
  const auto queue = make(8);
  std::vector<page_frame> frames;
  std::vector<io_request> requests;
  for (std::size_t i = 0; i < 4 * pages; ++i) frames.emplace_back(page);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    requests.push_back(read_page((i * 37) % pages, frames[i], i));
  }
  queue->submit(requests);
  std::map<std::uint64_t, int> seen;
  for (const auto& end : ends_.wait_for(frames.size())) {
    EXPECT_EQ(end.error, 0);
    EXPECT_EQ(end.moved, page);
    ++seen[end.tag];
  }
  EXPECT_EQ(seen.size(), frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_TRUE(frames[i].holds((i * 37) % pages)) << i;
}

TEST_P(IoQueue, WritesArriveAndNamesAreRight) {
  const auto queue = make(4);
  EXPECT_EQ(queue->name(), GetParam() == io_engine::threads ? "threads" : "io_uring");
  const page_frame content(8 * page, 4711);
  const io_request write{file_, true, 16 * page, content.data(), content.size(), 1};
  queue->submit({&write, 1});
  EXPECT_EQ(ends_.wait_for(1).front().error, 0);
  const page_frame back(8 * page);
  ASSERT_EQ(::pread(file_, back.data(), back.size(), 16 * page), static_cast<ssize_t>(back.size()));
  EXPECT_TRUE(back.holds(4711));
}

TEST_P(IoQueue, EndOfFileIsAnErrorAndSaysHowFarItCame) {
  const auto queue = make(4);
  const page_frame into(4 * page);
  const std::vector<io_request> requests{read_page(pages - 1, into, 0), read_page(pages + 7, into, 1)};
  queue->submit(requests);
  for (const auto& end : ends_.wait_for(2)) {
    EXPECT_EQ(end.error, io_end_of_file);
    EXPECT_EQ(end.moved, end.tag == 0 ? page : 0);
  }
}

TEST_P(IoQueue, ErrorsOfTheSystemComeBackAsTheyAre) {
  const auto queue = make(4);
  const page_frame into(page);
  const io_request closed{-1, false, 0, into.data(), page, 0};
  queue->submit({&closed, 1});
  EXPECT_EQ(ends_.wait_for(1).front().error, EBADF);
  const test::file_size_limit limit(pages * page);
  const page_frame content(2 * page, 1);
  const io_request late{file_, true, (pages - 1) * page, content.data(), content.size(), 1};
  queue->submit({&late, 1});
  const auto end = ends_.wait_for(2).back();
  EXPECT_EQ(end.error, EFBIG);
  EXPECT_EQ(end.moved, page) << "the part below the limit is written first";
}

TEST_P(IoQueue, ThePrioritizedOvertakeTheWaiting) {
  const auto queue = make(1);
  ends_.close();  // the first to end holds the queue up, so that all others wait
  const page_frame other(page), urgent(page);
  std::vector<io_request> requests(20, read_page(0, other, 0));
  requests.push_back(read_page(1, urgent, 1));
  requests.push_back(read_page(2, urgent, 1));
  queue->submit(requests);
  queue->prioritize(1);
  ends_.open();
  const auto ends = ends_.wait_for(requests.size());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].tag == 1) places.push_back(i);
  }
  // At most one request had begun before.
  ASSERT_EQ(places.size(), 2U);
  EXPECT_LE(places[0], 1U);
  EXPECT_EQ(places[1], places[0] + 1);
  EXPECT_TRUE(urgent.holds(2)) << "of one tag the order is kept";
}

TEST_P(IoQueue, DestructionWaitsForAll) {
  std::vector<page_frame> frames;
  for (std::size_t i = 0; i < pages; ++i) frames.emplace_back(page);
  {
    const auto queue = make(2);
    for (std::size_t i = 0; i < pages; ++i) {
      const io_request each = read_page(i, frames[i], i);
      queue->submit({&each, 1});
    }
  }
  EXPECT_EQ(ends_.count(), pages);
  for (std::size_t i = 0; i < pages; ++i) EXPECT_TRUE(frames[i].holds(i)) << i;
}

TEST_P(IoQueue, RequestsOutliveTheThreadsThatSubmitThem) {
  const auto queue = make(4);
  std::vector<page_frame> frames;
  for (std::size_t i = 0; i < pages; ++i) frames.emplace_back(page);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < pages; i += 4) {
        const io_request each = read_page(i, frames[i], i);
        queue->submit({&each, 1});
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (const auto& end : ends_.wait_for(pages)) EXPECT_EQ(end.error, 0) << end.tag;
}

TEST_P(IoQueue, LeavesNoDescriptorsAndNoThreads) {
  { const auto warm_up = make(4); }
  const std::size_t before = test::open_descriptors();
  for (int i = 0; i < 10; ++i) const auto queue = make(16);
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_P(IoQueue, DepthOutOfRangeIsRefused) {
  EXPECT_THROW((void)make(0), invalid_argument);
  EXPECT_THROW((void)make(4097), invalid_argument);
}

/// Forbids this process io_uring, as the rules of containers do; false when that cannot be done.
bool forbid_io_uring() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(rules)), rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// What must hold where io_uring is forbidden: 0, or the number of the first claim that does not.
int check_fallback() {
  collector ends;
  if (has_io_uring()) return 2;
  if (make_io_queue(ends, io_engine::automatic, 4)->name() != "threads") return 3;
  const std::string message =
      test::message_of<io_error>([&] { (void)make_io_queue(ends, io_engine::io_uring, 4); });
  return message.find("'threads'") == std::string::npos ? 4 : 0;
}

TEST(IoEngine, AutomaticFallsBackToThreadsWhereIoUringIsForbidden) {
  constexpr int cannot_forbid = 77;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(forbid_io_uring() ? check_fallback() : cannot_forbid);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == cannot_forbid) GTEST_SKIP() << "this machine allows no seccomp filter";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace

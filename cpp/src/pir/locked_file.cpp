// SPDX-License-Identifier: Apache-2.0
#include "pir/locked_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "halocline/core/expects.hpp"

namespace halocline::pir {
namespace {

/// How long a reader waits for a writer, which has the file alone for some milliseconds.
constexpr std::chrono::milliseconds pause{10};
constexpr int most_pauses = 500;
/// Linux reads and writes at most 2^31 - 4096 bytes in one call.
constexpr std::size_t most_bytes = std::size_t{1} << 30;

/// Takes a lock. False: someone else has it.
bool take_lock(int descriptor, int kind) {
  while (::flock(descriptor, kind | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return true;  // a file system without locks
  }
  return true;
}

}  // namespace

locked_file::locked_file(const std::filesystem::path& path)
    : path_(std::filesystem::absolute(path)), name_("'" + path.string() + "'") {
  // Without O_NONBLOCK, opening a named pipe would wait for its other end.
  constexpr int flags = O_CLOEXEC | O_NONBLOCK;
  descriptor_ = ::open(path_.c_str(), O_RDWR | flags);
  writable_ = descriptor_ >= 0;
  if (!writable_ && (errno == EACCES || errno == EROFS || errno == EPERM || errno == ETXTBSY)) {
    descriptor_ = ::open(path_.c_str(), O_RDONLY | flags);
  }
  if (descriptor_ < 0) fail("open", errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    const int code = errno;
    ::close(descriptor_);
    fail("open", code);
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  try {
    HALOCLINE_EXPECTS(S_ISREG(status.st_mode), io_error, "cannot open ", name_, ": it is not a regular file");
    share();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

locked_file::~locked_file() { ::close(descriptor_); }

void locked_file::fail(const char* action, int code) const {
  throw io_error(text("cannot ", action, " ", name_, ": ", std::generic_category().message(code)));
}

bool locked_file::has_its_name() const noexcept {
  struct stat mine {};
  struct stat named {};
  return ::fstat(descriptor_, &mine) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

void locked_file::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ::ssize_t count =
        ::pread(descriptor_, out.data(), std::min(out.size(), most_bytes), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", errno);
    HALOCLINE_EXPECTS(count > 0, corrupt_data, name_, " was shortened while it was open: it ends at ", offset,
                      " bytes, expected ", bytes_);
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void locked_file::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ::ssize_t count =
        ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), most_bytes), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("write", count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void locked_file::synchronize() {
  while (::fdatasync(descriptor_) != 0) {
    if (errno != EINTR) fail("synchronize", errno);
  }
}

bool locked_file::lock_alone() { return take_lock(descriptor_, LOCK_EX); }

void locked_file::share() {
  for (int pauses = 0; !take_lock(descriptor_, LOCK_SH); ++pauses) {
    HALOCLINE_EXPECTS(pauses < most_pauses, io_error, "cannot open ", name_,
                      ": another process has been replacing records for seconds; try again");
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace halocline::pir

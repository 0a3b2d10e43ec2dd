// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/file_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "halocline/core/expects.hpp"

namespace halocline::io {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* action, int code) {
  throw io_error(text("cannot ", action, " '", path.string(), "': ", std::generic_category().message(code)));
}

}  // namespace

file_map::file_map(const std::filesystem::path& path, std::uint64_t limit) {
  file_map opening;  // closes and unmaps when a check below throws
  opening.path_ = path;
  // Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
  opening.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (opening.descriptor_ < 0) fail(path, "read", errno);
  if (::fstat(opening.descriptor_, &status) != 0) fail(path, "read", errno);
  HALOCLINE_EXPECTS(S_ISREG(status.st_mode), io_error, "cannot read '", path.string(),
                    "': it is not a regular file");
  HALOCLINE_EXPECTS(static_cast<std::uint64_t>(status.st_size) <= limit, corrupt_data, "'", path.string(),
                    "' has ", status.st_size, " bytes, expected at most ", limit, " for a file of its kind");
  if (const auto size = static_cast<std::size_t>(status.st_size); size != 0) {
    void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opening.descriptor_, 0);
    if (data == MAP_FAILED) fail(path, "map", errno);
    opening.bytes_ = {static_cast<const std::byte*>(data), size};
  }
  *this = std::move(opening);
}

file_map::file_map(file_map&& other) noexcept { *this = std::move(other); }

file_map& file_map::operator=(file_map&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

file_map::~file_map() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void file_map::read(std::uint64_t offset, std::span<std::byte> dst) const {
  while (!dst.empty()) {
    // A signal, or the limit of 2^31 bytes for one call, may leave a part for the next round.
    const ::ssize_t count = ::pread(descriptor_, dst.data(), dst.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      fail(path_, "read", errno);
    }
    HALOCLINE_EXPECTS(count > 0, corrupt_data, "'", path_.string(),
                      "' was shortened while it was read: it ends at ", offset, " bytes, expected ",
                      bytes_.size());
    dst = dst.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

}  // namespace halocline::io

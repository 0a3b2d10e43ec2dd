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

/// Closes a descriptor at the end of its scope; the map outlives it.
struct descriptor {
  int value;
  ~descriptor() { ::close(value); }
};

}  // namespace

file_map::file_map(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) {
    fail(path, "open", errno);
  }
  const descriptor file{opened};
  struct stat status {};
  if (::fstat(file.value, &status) != 0) {
    fail(path, "read", errno);
  }
  HALOCLINE_EXPECTS(S_ISREG(status.st_mode), io_error, "cannot read '", path.string(),
                    "': it is not a regular file");
  if (status.st_size == 0) {
    return;
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (data == MAP_FAILED) {
    fail(path, "map", errno);
  }
  bytes_ = {static_cast<const std::byte*>(data), size};
}

file_map::file_map(file_map&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

file_map& file_map::operator=(file_map&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

file_map::~file_map() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace halocline::io

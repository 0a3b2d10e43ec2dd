// SPDX-License-Identifier: Apache-2.0
#include "memory/tier/tier_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "halocline/core/expects.hpp"

namespace halocline::memory {
namespace {

constexpr const char* folder_variable = "HALOCLINE_TIER_DIR";

bool is_memory(const struct statfs& system) noexcept {
  const auto type = static_cast<std::uint64_t>(system.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

/// Many systems keep their folder of temporary files in memory, and have one on disk beside it.
std::filesystem::path default_folder() {
  const char* const chosen = std::getenv(folder_variable);
  if (chosen != nullptr && *chosen != '\0') return chosen;
  std::error_code failure;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(failure);
  const std::filesystem::path on_disk = "/var/tmp";
  struct statfs system {};
  const bool memory = failure || (::statfs(temporary.c_str(), &system) == 0 && is_memory(system));
  return memory && ::access(on_disk.c_str(), W_OK | X_OK) == 0 ? on_disk : temporary;
}

/// A descriptor, or -1 with errno.
int open_nameless(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
  std::string name = (folder / ("halocline-" + std::string(6, 'X'))).string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);  // mode 0600
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

tier_file::tier_file(const std::filesystem::path& folder, bool direct)
    : folder_(folder.empty() ? default_folder() : folder), descriptor_(open_nameless(folder_)) {
  HALOCLINE_EXPECTS(descriptor_ >= 0, io_error, "file tier: cannot make a file in '", folder_.string(), "' (",
                    std::strerror(errno), "); name a writable folder in the options or in ", folder_variable);
  struct statfs system {};
  in_memory_ = ::fstatfs(descriptor_, &system) == 0 && is_memory(system);
  if (!direct || in_memory_) return;
  const int flags = ::fcntl(descriptor_, F_GETFL);
  direct_ = flags >= 0 && ::fcntl(descriptor_, F_SETFL, flags | O_DIRECT) == 0;
}

tier_file::~tier_file() { forsake(); }

void tier_file::forsake() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

int tier_file::grow(std::uint64_t from, std::uint64_t to) noexcept {
  int result = 0;
  do {
    result = ::fallocate(descriptor_, 0, static_cast<off_t>(from), static_cast<off_t>(to - from));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return 0;
  int failure = errno;
  if (failure == EOPNOTSUPP || failure == ENOSYS) {
    if (::ftruncate(descriptor_, static_cast<off_t>(to)) == 0) return 0;
    failure = errno;
  }
  // A file system may have reserved a part before the call failed.
  const int cut = ::ftruncate(descriptor_, static_cast<off_t>(from));
  static_cast<void>(cut);
  return failure;
}

}  // namespace halocline::memory

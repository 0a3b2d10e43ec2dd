// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/atomic_file.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "halocline/core/expects.hpp"

namespace halocline::io {
namespace {

namespace fs = std::filesystem;

/// Longest file name of the usual file systems (NAME_MAX), in bytes.
constexpr std::size_t name_limit = 255;
constexpr std::string_view suffix = ".partial-";
constexpr std::size_t random_letters = 6;
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";

[[nodiscard]] std::string reason(int code) { return std::generic_category().message(code); }

[[nodiscard]] fs::path folder_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

/// Links that are followed before a loop is suspected, as many as Linux follows.
constexpr int most_links = 40;

/// Throws io_error for entries of /proc/<process>/fd: they look like links to files, but they are open
/// descriptors, whose readers and writers would not see a file that is renamed to the same name.
void refuse_descriptor(const fs::path& link, const fs::path& asked) {
  std::error_code failed;
  const fs::path folder = fs::canonical(folder_of(link), failed);
  HALOCLINE_EXPECTS(failed || folder.native().rfind("/proc/", 0) != 0, io_error, "cannot write '",
                    asked.string(),
                    "': it names an open descriptor, not a file; name a file (commands take - for standard "
                    "output)");
}

/// The absolute path (a later change of the working folder must not matter) of what a chain of symbolic links
/// leads to, there or not: renaming onto a link would replace the link.
[[nodiscard]] fs::path resolve(const fs::path& path) {
  std::error_code failed;
  fs::path at = fs::absolute(path, failed);
  if (failed) return path;
  for (int links = 0; fs::is_symlink(fs::symlink_status(at, failed)); ++links) {
    HALOCLINE_EXPECTS(links < most_links, io_error, "cannot write '", path.string(),
                      "': its symbolic links form a loop");
    refuse_descriptor(at, path);
    const fs::path target = fs::read_symlink(at, failed);
    HALOCLINE_EXPECTS(!failed, io_error, "cannot write '", path.string(), "': cannot follow the link '",
                      at.string(), "': ", failed.message());
    at = target.is_absolute() ? target : folder_of(at) / target;
  }
  return at;
}

/// `.<name>.partial-`, with a name that is shortened to what a file system accepts.
[[nodiscard]] std::string temporary_prefix(const fs::path& path) {
  const std::size_t kept = name_limit - 1 - suffix.size() - random_letters;
  return "." + path.filename().string().substr(0, kept) + std::string(suffix);
}

/// With random letters behind it.
[[nodiscard]] fs::path temporary_name(const fs::path& path) {
  std::string name = temporary_prefix(path);
  for (std::size_t i = 0; i < random_letters; ++i) {
    name += letters[randombytes_uniform(static_cast<std::uint32_t>(letters.size()))];
  }
  return folder_of(path) / name;
}

/// Removes a temporary file unless its writer has locked it.
bool remove_unlocked(const fs::path& file) noexcept {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return false;
  struct stat status {};
  const bool removed = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                       ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::unlink(file.c_str()) == 0;
  ::close(descriptor);
  return removed;
}

}  // namespace

atomic_file::atomic_file(const fs::path& path, file_privacy privacy) : path_(resolve(path)) {
  HALOCLINE_EXPECTS(sodium_init() >= 0, io_error, "cannot write '", path_.string(),
                    "': the system has no source of randomness for the name of the temporary file");
  HALOCLINE_EXPECTS(path_.has_filename(), io_error, "cannot write '", path.string(), "': it names no file");
  create(privacy);
}

void atomic_file::create(file_privacy privacy) {
  struct stat old {};
  const bool replaces = ::stat(path_.c_str(), &old) == 0;
  HALOCLINE_EXPECTS(
      !replaces || S_ISREG(old.st_mode), io_error, "cannot write '", path_.string(),
      "': it exists and is not a regular file (device, pipe, socket or folder); name another file");
  // A file with narrow permissions is replaced by one that never had wider ones.
  const bool keeps = replaces && privacy != file_privacy::secret;
  open_temporary(keeps ? old.st_mode & 0777U : privacy == file_privacy::shared ? 0666U : 0600U);
  if (keeps) {
    // Only root may give a file away, and a file system without permission bits refuses the second call:
    // neither is a reason to lose the data. Changing the owner clears bits, so it comes first.
    const bool moved = old.st_uid != ::geteuid() || old.st_gid != ::getegid();
    if (moved) (void)!::fchown(descriptor_, old.st_uid, old.st_gid);
    (void)::fchmod(descriptor_, old.st_mode & 07777);
  }
}

void atomic_file::open_temporary(unsigned mode) {
  constexpr int attempts = 100;
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = temporary_name(path_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (descriptor_ < 0 && (errno != EEXIST || attempt == attempts)) {
      const int code = errno;
      throw io_error(text("cannot write '", path_.string(), "': making a temporary file in '",
                          folder_of(path_).string(), "' failed: ", reason(code)));
    }
    if (descriptor_ >= 0 && !lock_temporary()) {
      ::close(std::exchange(descriptor_, -1));
      HALOCLINE_EXPECTS(attempt != attempts, io_error, "cannot write '", path_.string(),
                        "': its temporary files are removed as fast as they are made");
    }
  }
}

/// Marks the temporary file as in use. False: `remove_leftovers` of another process was faster.
bool atomic_file::lock_temporary() noexcept {
  struct stat status {};
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;  // else: no locks here
  return ::fstat(descriptor_, &status) != 0 || status.st_nlink != 0;
}

std::size_t atomic_file::remove_leftovers(const fs::path& path) noexcept {
  std::size_t removed = 0;
  try {
    const fs::path target = resolve(path);
    const std::string prefix = temporary_prefix(target);
    std::error_code failed;
    for (fs::directory_iterator at(folder_of(target), failed), end; !failed && at != end;
         at.increment(failed)) {
      const std::string name = at->path().filename().string();
      const bool is_ours = name.size() == prefix.size() + random_letters && name.starts_with(prefix) &&
                           name.find_first_not_of(letters, prefix.size()) == std::string::npos;
      if (is_ours && remove_unlocked(at->path())) ++removed;
    }
  } catch (const std::exception&) {  // what cannot be named or listed stays
  }
  return removed;
}

atomic_file::~atomic_file() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
}

void atomic_file::append(std::span<const std::byte> bytes) {
  write_at(size_, bytes);
  size_ += bytes.size();
}

void atomic_file::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  HALOCLINE_EXPECTS(offset <= size_ && bytes.size() <= size_ - offset, invalid_argument,
                    "cannot overwrite bytes [", offset, ", ", offset + bytes.size(), ") of '", path_.string(),
                    "': only ", size_, " bytes were written");
  write_at(offset, bytes);
}

void atomic_file::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  HALOCLINE_EXPECTS(descriptor_ >= 0, invalid_argument, "cannot write '", path_.string(),
                    "': already committed");
  constexpr std::size_t piece = std::size_t{1} << 30;  // Linux writes at most 2^31 - 4096 bytes per call
  while (!bytes.empty()) {
    const ::ssize_t written =
        ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), piece), static_cast<::off_t>(offset));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      fail("writing", written < 0 ? errno : ENOSPC);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void atomic_file::commit() {
  HALOCLINE_EXPECTS(descriptor_ >= 0, invalid_argument, "cannot commit '", path_.string(), "' twice");
  if (::fsync(descriptor_) != 0) {
    fail("synchronizing", errno);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail("renaming", errno);
  }
  ::close(std::exchange(descriptor_, -1));
  sync_folder();
}

void atomic_file::sync_folder() const {
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int code = folder < 0 || ::fsync(folder) != 0 ? errno : 0;
  if (folder >= 0) {
    ::close(folder);
  }
  // Some network file systems cannot synchronize a folder, and a folder may be writable but not readable.
  if (code != 0 && code != EINVAL && code != ENOTSUP && code != EACCES) {
    throw io_error(text("'", path_.string(),
                        "' was replaced, but synchronizing its folder failed, so the change ",
                        "may not survive a power failure: ", reason(code)));
  }
}

void atomic_file::fail(const char* action, int code) const {
  throw io_error(text("saving '", path_.string(), "' failed while ", action, " ", size_,
                      " bytes: ", reason(code), "; nothing was replaced",
                      code == ENOSPC || code == EDQUOT ? ", free some space and save again" : ""));
}

}  // namespace halocline::io

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace halocline::io {

/// Who may read a new file.
enum class file_privacy : std::uint8_t {
  shared,  ///< as the umask says; a file that is replaced keeps its permission bits
  owner,   ///< 0600; a file that is replaced keeps its permission bits
  secret,  ///< 0600 from the first byte on, also when it replaces a file with wider permissions
};

/// Writes a file so that its name shows either the old content or the complete new content, whatever happens
/// in between: the bytes go to `.<name>.partial-XXXXXX` in the same folder, and `commit` synchronizes,
/// renames and synchronizes the folder. Destruction without `commit` removes the temporary file and leaves
/// the old file as it was. A process that is killed leaves at most a temporary file, recognisable by its
/// name, never a half file; `remove_leftovers` finds it. Not thread-safe; two writers of the same path are
/// safe, the last to commit wins.
///
/// The file gets a new inode: other hard links keep the old content, and its folder must be writable, even
/// where the file itself is. A file that is replaced keeps its permission bits from the first byte on
/// (`secret` aside) and, where the process may give files away, its owner.
class atomic_file {
 public:
  /// Creates the temporary file. A path that is a symbolic link is followed, so that the link survives; the
  /// target of a dangling link is created.
  /// @throws io_error when the folder is missing or not writable; the path exists and is not a regular file
  /// (device, pipe, socket, folder); it names an open descriptor, such as /dev/stdout; links form a loop.
  explicit atomic_file(const std::filesystem::path& path, file_privacy privacy = file_privacy::shared);
  ~atomic_file();
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;

  /// Appends bytes. Unbuffered: callers pass pieces of a page or more.
  /// @throws io_error with path and reason (disk full, quota, size limit); the object can then only be
  /// destroyed.
  void append(std::span<const std::byte> bytes);
  /// Overwrites bytes that were appended before, for headers that are known last.
  /// @throws io_error as `append`; invalid_argument when the range was not appended yet.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Removes temporary files of this path that processes left which were killed. Those of other writers that
  /// are at work, which lock them, stay; so do all where the file system has no locks.
  /// @return how many were removed
  static std::size_t remove_leftovers(const std::filesystem::path& path) noexcept;
  /// Bytes appended so far.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Makes the content durable and gives it its name. Call once, last.
  /// @throws io_error; the old file is untouched unless the message says that it was replaced.
  void commit();

  /// Where the file will be, with a symbolic link resolved.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Where the bytes are until `commit`.
  [[nodiscard]] const std::filesystem::path& temporary_path() const noexcept { return temporary_; }

 private:
  void create(file_privacy privacy);
  void open_temporary(unsigned mode);
  [[nodiscard]] bool lock_temporary() noexcept;
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void sync_folder() const;
  [[noreturn]] void fail(const char* action, int code) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace halocline::io

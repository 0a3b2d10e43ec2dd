// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace halocline::pir {

/// An open file that is read and written by position, with the lock of the operating system that readers
/// share and a writer has alone. The lock ends with the object and with the process. File systems without
/// locks lock nothing. Reads and writes of different threads may overlap.
class locked_file {
 public:
  /// Opens a regular file, for writing where that is allowed, and takes the shared lock. Waits up to some
  /// seconds for a writer.
  /// @throws io_error
  explicit locked_file(const std::filesystem::path& path);
  ~locked_file();
  locked_file(const locked_file&) = delete;
  locked_file& operator=(const locked_file&) = delete;

  /// For messages: "'/srv/records.hlr'".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool is_writable() const noexcept { return writable_; }
  /// Whether the path still names this file.
  [[nodiscard]] bool has_its_name() const noexcept;

  /// @throws io_error when the device fails; corrupt_data when the file was shortened
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// @throws io_error
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Waits until what was written is on disk. @throws io_error
  void synchronize();

  /// Takes the lock alone. False: others have the file open. Others may have taken it alone meanwhile.
  [[nodiscard]] bool lock_alone();
  /// Shares it again. @throws io_error when a writer does not end
  void share();

 private:
  [[noreturn]] void fail(const char* action, int code) const;

  std::filesystem::path path_;
  std::string name_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  bool writable_ = false;
};

}  // namespace halocline::pir

// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "halocline/core/expects.hpp"
#include "halocline/io/atomic_file.hpp"
#include "halocline/io/file_map.hpp"
#include "halocline/storage/object_store.hpp"
#include "open_remote.hpp"

namespace halocline::storage {
namespace {

namespace fs = std::filesystem;

/// Removes what writers that were killed left in a folder; files that are being written stay. How many.
std::size_t remove_leftovers(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> killed;
  for (fs::directory_iterator at(folder, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    const std::size_t mark = name.find(".partial-");
    if (name.front() == '.' && mark != std::string::npos) killed.push_back(folder / name.substr(1, mark - 1));
  }
  std::size_t removed = 0;
  for (const fs::path& each : killed) removed += io::atomic_file::remove_leftovers(each);
  return removed;
}

/// A lock of a folder itself, so that nothing is left behind.
class folder_lock final : public write_lock {
 public:
  explicit folder_lock(int handle) : handle_(handle) {}
  ~folder_lock() override { ::close(handle_); }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int handle_;
};

void make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  HALOCLINE_EXPECTS(!failed, io_error, "cannot make the folder '", folder.string(), "': ", failed.message());
}

/// Objects as files. `io::atomic_file` makes `put` atomic and durable.
class folder_store final : public object_store {
 public:
  folder_store(fs::path root, double deadline_seconds)
      : root_(std::move(root)), deadline_seconds_(deadline_seconds) {}

  [[nodiscard]] std::string url() const override { return "file:" + root_.string(); }

  [[nodiscard]] bool has_cheap_requests() const noexcept override { return true; }

  void put(const std::string& name, std::span<const std::byte> content) override {
    const fs::path path = root_ / name;
    make_folder(path.parent_path());
    remove_leftovers(path.parent_path());
    io::atomic_file file(path);
    file.append(content);
    file.commit();
    ++requests_;
    sent_ += content.size();
  }

  [[nodiscard]] std::unique_ptr<write_lock> lock(const std::string& folder) override {
    const fs::path path = root_ / folder;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(deadline_seconds_);
    for (;;) {
      make_folder(path);
      const int handle = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (handle >= 0) {
        auto held = std::make_unique<folder_lock>(handle);
        if (::flock(handle, LOCK_EX | LOCK_NB) == 0) {
          if (is_at(handle, path)) return held;  // else another writer removed it meanwhile
          continue;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) return nullptr;  // a file system without locks
      } else {
        HALOCLINE_EXPECTS(errno == ENOENT, io_error, "cannot open the folder '", path.string(),
                          "': ", std::strerror(errno));
      }
      HALOCLINE_EXPECTS(std::chrono::steady_clock::now() < until, io_error, "another writer is at work in '",
                        path.string(), "' since ", deadline_seconds_, " s; try again later");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  std::size_t remove_partial(const std::string& folder) override { return remove_leftovers(root_ / folder); }

  [[nodiscard]] std::optional<std::vector<std::byte>> get(const std::string& name,
                                                          std::uint64_t limit) override {
    if (!exists(name)) return std::nullopt;
    const io::file_map file(root_ / name, limit);
    std::vector<std::byte> out(file.bytes().size());
    file.read(0, out);
    ++requests_;
    read_ += out.size();
    return out;
  }

  void read(const std::string& name, std::uint64_t bytes, std::span<const range_read> parts,
            const part_progress& progress, const std::stop_token& stop) override {
    const io::file_map file(root_ / name);
    HALOCLINE_EXPECTS(file.bytes().size() == bytes, corrupt_data, "'", (root_ / name).string(), "' has ",
                      file.bytes().size(), " bytes, expected ", bytes, "; put the keys again");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      HALOCLINE_EXPECTS(!stop.stop_requested(), io_error, "reading '", (root_ / name).string(),
                        "' was given up");
      file.read(parts[i].offset, parts[i].dst);
      ++requests_;
      read_ += parts[i].dst.size();
      progress(i, parts[i].dst.size());
    }
  }

  [[nodiscard]] std::vector<store_entry> list(const std::string& folder) override {
    std::vector<store_entry> out;
    std::error_code failed;
    fs::directory_iterator entries(root_ / folder, failed);
    if (failed == std::errc::no_such_file_or_directory) return out;
    for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
      const std::string name = entries->path().filename().string();
      if (!is_store_name(name)) continue;  // files of atomic_file that are being written, and others' files
      std::error_code gone;
      const bool is_folder = entries->is_directory(gone);
      const std::uint64_t bytes = is_folder ? 0 : entries->file_size(gone);
      if (!gone) out.push_back({name, is_folder, bytes});
    }
    HALOCLINE_EXPECTS(!failed, io_error, "cannot list '", (root_ / folder).string(), "': ", failed.message());
    std::ranges::sort(out, {}, &store_entry::name);
    ++requests_;
    return out;
  }

  bool remove(const std::string& name) override {
    std::error_code failed;
    const bool removed = fs::remove(root_ / name, failed);
    HALOCLINE_EXPECTS(!failed, io_error, "cannot remove '", (root_ / name).string(), "': ", failed.message());
    // The folder of a user goes with its last object; a folder that is not empty stays.
    remove_leftovers((root_ / name).parent_path());
    if ((root_ / name).parent_path() != root_) fs::remove((root_ / name).parent_path(), failed);
    ++requests_;
    return removed;
  }

  [[nodiscard]] store_counts counts() const override { return {requests_, 0, 0, read_, sent_}; }

 private:
  /// Whether a path still leads to an open folder.
  [[nodiscard]] static bool is_at(int handle, const fs::path& path) {
    struct ::stat opened {};
    struct ::stat there {};
    return ::fstat(handle, &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
           opened.st_ino == there.st_ino && opened.st_dev == there.st_dev;
  }

  [[nodiscard]] bool exists(const std::string& name) const {
    std::error_code failed;
    const fs::file_status status = fs::status(root_ / name, failed);
    HALOCLINE_EXPECTS(fs::status_known(status), io_error, "cannot read '", (root_ / name).string(),
                      "': ", failed.message());
    return fs::exists(status);
  }

  fs::path root_;
  double deadline_seconds_;
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> read_{0};
  std::atomic<std::uint64_t> sent_{0};
};

}  // namespace

std::shared_ptr<object_store> open_folder(const std::string& path, const store_options& options) {
  return std::make_shared<folder_store>(fs::absolute(path), options.deadline_seconds);
}

}  // namespace halocline::storage

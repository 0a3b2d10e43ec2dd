// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace halocline::test {

/// How something else harms the file of a file store.
enum class damage { truncate, flip_bits, zero_pages, swap_pages, stale_pages };

/// The file of the only file store in a folder, opened once more behind its back.
class spill_file {
 public:
  explicit spill_file(const std::filesystem::path& folder) {
    namespace fs = std::filesystem;
    for (const auto& each : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string target = fs::read_symlink(each.path(), gone).string();
      if (gone || target.rfind(folder.string() + "/", 0) != 0) continue;
      file_ = ::open(each.path().c_str(), O_RDWR | O_CLOEXEC);
      if (file_ >= 0) return;
    }
    throw std::runtime_error("no file of a store in " + folder.string());
  }
  ~spill_file() { ::close(file_); }
  spill_file(const spill_file&) = delete;
  spill_file& operator=(const spill_file&) = delete;

  /// The first `bytes` bytes, or fewer where the file ends.
  [[nodiscard]] std::vector<char> copy(std::size_t bytes) const {
    std::vector<char> result(bytes);
    result.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(file_, result.data(), bytes, 0))));
    return result;
  }
  void put(const std::vector<char>& contents, std::size_t offset = 0) const {
    const ssize_t put = ::pwrite(file_, contents.data(), contents.size(), static_cast<off_t>(offset));
    if (put != static_cast<ssize_t>(contents.size())) throw std::runtime_error("cannot write the file");
  }
  void truncate(std::size_t bytes) const {
    if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) throw std::runtime_error("cannot truncate");
  }

  /// Harms every page of the first `bytes` bytes; `before` is what stood there earlier.
  void harm(damage how, std::size_t bytes, std::mt19937_64& random, const std::vector<char>& before) const {
    constexpr std::size_t page = 4096;
    if (how == damage::truncate) return truncate(random() % (bytes / 2));
    std::vector<char> now = copy(bytes);
    const std::size_t pages = now.size() / page;
    for (std::size_t i = 0; i < pages; ++i) {
      const auto at = now.begin() + static_cast<std::ptrdiff_t>(i * page);
      const std::size_t other = random() % pages;
      if (how == damage::flip_bits) at[static_cast<std::ptrdiff_t>(random() % page)] ^= 1 << random() % 8;
      if (how == damage::zero_pages) std::fill_n(at, page, '\0');
      if (how == damage::swap_pages && other != i)
        std::swap_ranges(at, at + page, now.begin() + static_cast<std::ptrdiff_t>(other * page));
    }
    put(how == damage::stale_pages ? before : now);
  }

 private:
  int file_ = -1;
};

}  // namespace halocline::test

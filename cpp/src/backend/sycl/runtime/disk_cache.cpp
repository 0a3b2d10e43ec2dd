// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/runtime/disk_cache.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "halocline/core/expects.hpp"

namespace halocline::backend::sycl {
namespace {

constexpr std::size_t digest_bytes = 32;
/// No compiled file is as large.
constexpr std::size_t largest_file = std::size_t{256} << 20;
using digest = std::array<std::byte, digest_bytes>;

[[nodiscard]] digest digest_of(std::string_view key, std::span<const std::byte> contents) {
  digest made;
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, digest_bytes);
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(key.data()), key.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(contents.data()), contents.size());
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(made.data()), digest_bytes);
  return made;
}

[[nodiscard]] std::filesystem::path chosen_folder() {
  if (const char* const own = std::getenv("HALOCLINE_SYCL_CACHE"); own != nullptr && *own != '\0') return own;
  if (const char* const xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/') {
    return std::filesystem::path(xdg) / "halocline" / "sycl";
  }
  const char* const home = std::getenv("HOME");
  HALOCLINE_EXPECTS(home != nullptr && *home == '/', device_error,
                    "SYCL: no folder for compiled kernels; set HALOCLINE_SYCL_CACHE to a folder of yours "
                    "(HOME is not set)");
  return std::filesystem::path(home) / ".cache" / "halocline" / "sycl";
}

/// A descriptor that is closed.
class open_file {
 public:
  explicit open_file(int descriptor) noexcept : descriptor_(descriptor) {}
  ~open_file() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

/// All bytes of a regular file of this user.
[[nodiscard]] std::optional<std::vector<std::byte>> read_own(const std::filesystem::path& path) {
  const open_file file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat facts {};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || size > largest_file) return std::nullopt;
  std::vector<std::byte> bytes(size);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = read(file.get(), bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

[[nodiscard]] bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace

disk_cache::disk_cache() : folder_(chosen_folder()) {
  std::error_code failure;
  if (!folder_.parent_path().empty()) std::filesystem::create_directories(folder_.parent_path(), failure);
  constexpr mode_t own = 0700;
  struct stat facts {};
  HALOCLINE_EXPECTS((mkdir(folder_.c_str(), own) == 0 || errno == EEXIST) &&
                        stat(folder_.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode),
                    device_error, "SYCL: cannot make the folder for compiled kernels, ", folder_.string(),
                    " (", std::strerror(errno), "); set HALOCLINE_SYCL_CACHE to a folder of yours");
  HALOCLINE_EXPECTS(facts.st_uid == geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0, device_error,
                    "SYCL: code would be loaded from ", folder_.string(),
                    ", which another user owns or may write to; use `chmod go-w`, or set "
                    "HALOCLINE_SYCL_CACHE to a folder of yours");
}

std::filesystem::path disk_cache::path_of(std::string_view key, std::string_view suffix) const {
  return folder_ / (std::string(key) + std::string(suffix));
}

std::optional<std::vector<std::byte>> disk_cache::load(std::string_view key, std::string_view suffix) const {
  std::optional<std::vector<std::byte>> bytes = read_own(path_of(key, suffix));
  if (!bytes || bytes->size() < digest_bytes) return std::nullopt;
  const std::size_t size = bytes->size() - digest_bytes;
  const digest expected = digest_of(key, std::span(*bytes).first(size));
  if (!std::equal(expected.begin(), expected.end(), bytes->begin() + static_cast<std::ptrdiff_t>(size))) {
    return std::nullopt;
  }
  bytes->resize(size);
  return bytes;
}

void disk_cache::store(std::string_view key, std::string_view suffix,
                       std::span<const std::byte> contents) const {
  std::string name = (folder_ / ".new-XXXXXX").string();
  const open_file file(mkostemp(name.data(), O_CLOEXEC));
  const std::filesystem::path target = path_of(key, suffix);
  const digest check = digest_of(key, contents);
  const bool written = file.get() >= 0 && write_all(file.get(), contents) && write_all(file.get(), check) &&
                       fsync(file.get()) == 0 && rename(name.c_str(), target.c_str()) == 0;
  if (written) return;
  const int reason = errno;
  if (file.get() >= 0) unlink(name.c_str());
  throw device_error(text("SYCL: cannot write ", target.string(), " (", std::strerror(reason), ")"));
}

std::string cache_key(std::span<const std::string> parts) {
  constexpr std::size_t key_bytes = 16;
  std::array<unsigned char, key_bytes> made{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, key_bytes);
  for (const std::string& part : parts) {
    const std::uint64_t size = part.size();
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&size), sizeof(size));
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  }
  crypto_generichash_final(&state, made.data(), key_bytes);
  std::string digits(2 * key_bytes + 1, '\0');
  sodium_bin2hex(digits.data(), digits.size(), made.data(), key_bytes);
  digits.resize(2 * key_bytes);
  return digits;
}

}  // namespace halocline::backend::sycl

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "halocline/backend/backend.hpp"

namespace halocline::backend {

/// Bytes that go from a buffer of one backend to one of another.
struct peer_copy {
  std::uint32_t from = 0;  ///< number of the backend that has `src`
  std::uint32_t to = 0;    ///< of the one that has `dst`; another one than `from`
  const memory::buffer* src = nullptr;
  std::size_t src_offset = 0;
  const memory::buffer* dst = nullptr;
  std::size_t dst_offset = 0;
  std::size_t bytes = 0;
};

/// Backends of one process that send each other buffers. Not thread-safe: one caller for all of its backends.
class peers {
 public:
  virtual ~peers();
  peers(const peers&) = delete;
  peers& operator=(const peers&) = delete;

  /// The backends, in the order in which they were given.
  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  /// Number `i` of them, below `size()`.
  [[nodiscard]] backend& member(std::size_t i) const noexcept { return *members_[i]; }
  /// How bytes travel: "host" or "nccl".
  [[nodiscard]] virtual std::string_view link() const noexcept = 0;

  /// Begins copies, which follow the operations that were submitted before. All copies run at the same time
  /// where the link can, beside later operations; until `finish` their buffers must not be written or freed,
  /// and what is written must not be read. No range is written twice.
  /// @throws invalid_argument for a member that there is not, or buffers of another one; out_of_memory when a
  ///   budget cannot hold the buffers of its side; device_error
  void begin(std::span<const peer_copy> copies);
  /// Orders all later operations of the members after all copies. @throws device_error
  virtual void finish() {}

 protected:
  explicit peers(std::vector<std::shared_ptr<backend>> members);
  virtual void run(std::span<const peer_copy> copies) = 0;
  /// For each member, the access that has its buffers of all copies.
  [[nodiscard]] std::vector<memory::access> acquire(std::span<const peer_copy> copies) const;

 private:
  std::vector<std::shared_ptr<backend>> members_;
};

/// Joins backends: with NCCL where all are GPUs of this host, each another one; else through host memory.
/// NCCL is loaded at run time (libnccl.so.2).
/// @throws invalid_argument for no backends, or the same one twice; device_error when several GPUs are given
///   and NCCL is not there
[[nodiscard]] std::unique_ptr<peers> make_peers(std::vector<std::shared_ptr<backend>> members);

}  // namespace halocline::backend

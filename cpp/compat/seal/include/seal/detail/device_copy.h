// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace seal::detail {

/// Residues in the memory of a device. They never change: operations make new ones, so copies of an object
/// share them.
class device_words {
 public:
  virtual ~device_words() = default;
  /// The queue that made them. Each queue has its own memory.
  [[nodiscard]] virtual const void* queue() const noexcept = 0;
  /// Number of 64-bit words.
  [[nodiscard]] virtual std::size_t count() const noexcept = 0;
  /// Copies all words, after the operations that compute them.
  virtual void download(std::uint64_t* to) const = 0;
};

/// What a ciphertext or plaintext has beside its words in host memory: the device that it is marked with, and
/// copies of its words in memories of devices. At any time the words of the host or those of the copies are
/// the newest. Objects that are not modified may be used by several threads at once, as in SEAL; what is
/// mutable here is therefore guarded.
///
/// The owner of the words (`Ciphertext`, `Plaintext`) calls `bring_home` before it reads them and `forget`
/// before they are modified.
class device_copy {
 public:
  using handle = std::shared_ptr<const device_words>;

  device_copy() = default;
  device_copy(const device_copy& other) { *this = other; }
  device_copy(device_copy&& other) noexcept { *this = std::move(other); }
  device_copy& operator=(const device_copy& other) {
    return copy_with(other, [](bool) {});
  }
  device_copy& operator=(device_copy&& other) noexcept {
    if (this == &other) return *this;
    const std::scoped_lock both(mutex_, other.mutex_);
    mark_ = std::move(other.mark_);
    copies_ = std::move(other.copies_);
    host_is_old_ = std::exchange(other.host_is_old_, false);
    other.mark_.clear();
    other.copies_.clear();
    return *this;
  }
  ~device_copy() = default;

  /// Copies mark and copies of another object. `body(host_is_valid)` runs while the other one's words cannot
  /// be downloaded by another thread: there its owner copies them, where they are valid.
  template <typename BodyT>
  device_copy& copy_with(const device_copy& other, BodyT body) {
    if (this == &other) return *this;
    const std::scoped_lock both(mutex_, other.mutex_);
    mark_ = other.mark_;
    copies_ = other.copies_;
    host_is_old_ = other.host_is_old_;
    body(!host_is_old_);
    return *this;
  }

  /// Device that the object is marked with, "cuda:0"; empty for none.
  [[nodiscard]] std::string mark() const {
    const std::scoped_lock lock(mutex_);
    return mark_;
  }
  void set_mark(std::string device) {
    const std::scoped_lock lock(mutex_);
    mark_ = std::move(device);
  }

  /// Downloads the newest words if they are on a device only. `room(count)` returns where they go.
  template <typename RoomT>
  void bring_home(RoomT room) const {
    const std::scoped_lock lock(mutex_);
    if (!host_is_old_) return;
    copies_.front()->download(room(copies_.front()->count()));
    host_is_old_ = false;
  }
  /// Before the words of the host are modified, resized or replaced: the copies are old from now on.
  void forget() noexcept {
    const std::scoped_lock lock(mutex_);
    copies_.clear();
    host_is_old_ = false;
  }
  /// The result of an operation: the words of the host are old.
  void assign(handle made, std::string mark) {
    const std::scoped_lock lock(mutex_);
    mark_ = std::move(mark);
    copies_.assign(1, std::move(made));
    host_is_old_ = true;
  }
  /// Another copy of the newest words.
  void add(handle made) const {
    const std::scoped_lock lock(mutex_);
    copies_.push_back(std::move(made));
  }
  /// The copy in a queue's memory, or nullptr.
  [[nodiscard]] handle find(const void* queue) const {
    const std::scoped_lock lock(mutex_);
    for (const handle& each : copies_) {
      if (each->queue() == queue) return each;
    }
    return nullptr;
  }
  /// Whether the newest words are on a device only.
  [[nodiscard]] bool is_away() const {
    const std::scoped_lock lock(mutex_);
    return host_is_old_;
  }

 private:
  mutable std::mutex mutex_;
  std::string mark_;
  mutable std::vector<handle> copies_;
  mutable bool host_is_old_ = false;
};

/// Evaluation keys in the memories of devices, by queue and index. Copies of keys share them.
class device_keys {
 public:
  using handle = std::shared_ptr<const void>;

  device_keys() = default;
  device_keys(const device_keys& other) { *this = other; }
  device_keys(device_keys&& other) noexcept { *this = std::move(other); }
  device_keys& operator=(const device_keys& other) {
    if (this == &other) return *this;
    const std::scoped_lock both(mutex_, other.mutex_);
    mark_ = other.mark_;
    entries_ = other.entries_;
    return *this;
  }
  device_keys& operator=(device_keys&& other) noexcept {
    if (this == &other) return *this;
    const std::scoped_lock both(mutex_, other.mutex_);
    mark_ = std::move(other.mark_);
    entries_ = std::move(other.entries_);
    other.mark_.clear();
    other.entries_.clear();
    return *this;
  }
  ~device_keys() = default;

  [[nodiscard]] std::string mark() const {
    const std::scoped_lock lock(mutex_);
    return mark_;
  }
  void set_mark(std::string device) {
    const std::scoped_lock lock(mutex_);
    mark_ = std::move(device);
  }
  /// Before keys are modified.
  void forget() noexcept {
    const std::scoped_lock lock(mutex_);
    entries_.clear();
  }
  /// Key `index` in a queue's memory: `load()` makes it where it is not there yet.
  template <typename LoadT>
  [[nodiscard]] handle get(const void* queue, std::uint64_t index, LoadT load) const {
    const std::scoped_lock lock(mutex_);
    for (const entry& each : entries_) {
      if (each.queue == queue && each.index == index) return each.key;
    }
    entries_.push_back({queue, index, load()});
    return entries_.back().key;
  }

 private:
  struct entry {
    const void* queue;
    std::uint64_t index;
    handle key;
  };

  mutable std::mutex mutex_;
  std::string mark_;
  mutable std::vector<entry> entries_;
};

/// Checks the name of a device: "cpu", or "cuda:0" and the like in a build with CUDA. An object marked "cpu"
/// is one without a mark.
/// @return the mark
/// @throws std::runtime_error when there is no such device; std::invalid_argument for another name
[[nodiscard]] std::string checked_device(const std::string& name);

}  // namespace seal::detail

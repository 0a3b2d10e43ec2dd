// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "seal/dynarray.h"
#include "seal/util/defines.h"

namespace seal::halocline_detail {

/// Words of an object on a device, never changed once they are there: an operation makes new ones.
class device_words {
 public:
  device_words() = default;
  device_words(const device_words&) = delete;
  device_words& operator=(const device_words&) = delete;
  virtual ~device_words() = default;

  /// The queue whose memory they are in.
  [[nodiscard]] virtual const void* queue() const noexcept = 0;
  /// Whether their context is gone, so that no operation can use them any more.
  [[nodiscard]] virtual bool is_left() const noexcept { return false; }
  /// Waits for them and copies them to the host. `count` is the number of words that the object has.
  virtual void download(std::uint64_t* to, std::size_t count) const = 0;
};

/// The copies of an object's words on devices, where the object is to be, and which words are newer, those of
/// the host or those of the copies, which are all equal. Copies of an object share the words of devices.
///
/// Several threads may use one object that none of them modifies, as in SEAL; such uses upload and download
/// words, so they are guarded.
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
    words_ = std::move(other.words_);
    place_ = std::move(other.place_);
    newer_ = std::exchange(other.newer_, false);
    other.words_.clear();
    other.place_.clear();
    return *this;
  }
  ~device_copy() = default;

  /// Copies what another object has on devices. `body(valid)` runs while no other thread can download its
  /// words: there the owner of both copies those of the host, if they are valid.
  template <typename BodyT>
  device_copy& copy_with(const device_copy& other, BodyT body) {
    if (this == &other) return *this;
    const std::scoped_lock both(mutex_, other.mutex_);
    body(!other.newer_);
    words_ = other.words_;
    place_ = other.place_;
    newer_ = other.newer_;
    return *this;
  }

  /// Whether the words on the host are out of date.
  [[nodiscard]] bool is_newer() const {
    const std::scoped_lock lock(mutex_);
    return newer_;
  }
  /// Brings the host's words up to date; all are then equal.
  void to_host(DynArray<std::uint64_t>& host, std::size_t count) {
    const std::scoped_lock lock(mutex_);
    if (!newer_) return;
    host.resize(count, false);
    words_.front()->download(host.data(), count);
    newer_ = false;
  }
  /// The host's words change, or are replaced: what devices have is worth nothing any more.
  void drop() noexcept {
    const std::scoped_lock lock(mutex_);
    words_.clear();
    newer_ = false;
  }
  /// Another copy of the words, which an operation has uploaded. Copies of contexts that are gone are
  /// dropped, and with them the memory of their queues.
  void set_equal(handle words) {
    std::vector<handle> left;  // freed without the lock
    const std::scoped_lock lock(mutex_);
    const auto kept = std::partition(words_.begin(), words_.end(),
                                     [&](const handle& each) { return newer_ || !each->is_left(); });
    left.assign(std::make_move_iterator(kept), std::make_move_iterator(words_.end()));
    words_.erase(kept, words_.end());
    words_.push_back(std::move(words));
  }
  /// A result that the host does not have yet.
  void set_newer(handle words) {
    const std::scoped_lock lock(mutex_);
    words_.assign(1, std::move(words));
    newer_ = true;
  }
  /// The words in the memory of a queue; nullptr for none.
  [[nodiscard]] handle find(const void* queue) const {
    const std::scoped_lock lock(mutex_);
    for (const handle& each : words_) {
      if (each->queue() == queue) return each;
    }
    return nullptr;
  }

  /// Device that the program asked for, "" for none: the mark that results inherit.
  [[nodiscard]] std::string place() const {
    const std::scoped_lock lock(mutex_);
    return place_;
  }
  void set_place(std::string place) {
    const std::scoped_lock lock(mutex_);
    place_ = std::move(place);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<handle> words_;
  std::string place_;
  bool newer_ = false;
};

/// Checks the name of a device: "cpu", "cuda" or "cuda:0" and the like.
/// @return the mark of objects there: "" for "cpu"
/// @throws std::runtime_error when there is no such device here; std::invalid_argument for another name
[[nodiscard]] std::string checked_place(const std::string& device);

}  // namespace seal::halocline_detail

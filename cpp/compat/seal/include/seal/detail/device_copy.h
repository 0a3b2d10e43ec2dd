// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/dynarray.h"
#include "seal/util/defines.h"

namespace seal::detail {

/// Words of an object on a device, never changed once they are there: an operation makes new ones.
class device_words {
 public:
  device_words() = default;
  device_words(const device_words&) = delete;
  device_words& operator=(const device_words&) = delete;
  virtual ~device_words() = default;

  /// Waits for them and copies them to the host. `count` is the number of words that the object has.
  virtual void download(std::uint64_t* to, std::size_t count) const = 0;
};

/// The copy of an object's words on a device, where the object is to be, and which words are newer. Copies of
/// an object share the words of the device.
class device_copy {
 public:
  /// Whether the words on the host are out of date.
  [[nodiscard]] bool is_newer() const noexcept { return newer_ && words_ != nullptr; }
  /// Brings the host's words up to date; both are then equal.
  void to_host(DynArray<std::uint64_t>& host, std::size_t count) {
    if (!is_newer()) return;
    host.resize(count, false);
    words_->download(host.data(), count);
    newer_ = false;
  }
  /// The host's words change, or are replaced: what the device has is worth nothing any more.
  void drop() noexcept {
    words_.reset();
    newer_ = false;
  }
  /// A copy of the host's words that an operation has uploaded.
  void set_equal(std::shared_ptr<const device_words> words) noexcept {
    words_ = std::move(words);
    newer_ = false;
  }
  /// A result that the host does not have yet.
  void set_newer(std::shared_ptr<const device_words> words) noexcept {
    words_ = std::move(words);
    newer_ = words_ != nullptr;
  }
  [[nodiscard]] const std::shared_ptr<const device_words>& words() const noexcept { return words_; }

  /// Device that the program asked for, "" for none: the mark that results inherit.
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  void set_place(std::string place) { place_ = std::move(place); }

 private:
  std::shared_ptr<const device_words> words_;
  std::string place_;
  bool newer_ = false;
};

}  // namespace seal::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "halocline/params/parameters.hpp"

namespace halocline::backend {
class backend;
}

namespace halocline::ring {

/// Where objects live: the backend whose runtime has their bytes, and the CKKS parameters that they are of,
/// if any.
struct home {
  std::shared_ptr<backend::backend> device;
  std::optional<params::parameters> parameters;
};

/// An object's handle of its home, which it keeps alive: objects may outlive the client or engine that made
/// them. Objects declare it before their buffers, so that these are freed first. Assignment exchanges the
/// homes: what an assigned object held until then is freed while its home still exists.
class home_handle {
 public:
  home_handle() noexcept = default;
  home_handle(std::shared_ptr<const home> where) noexcept : where_(std::move(where)) {}
  home_handle(home_handle&&) noexcept = default;
  home_handle& operator=(home_handle&& other) noexcept {  ///< exchanges the homes
    where_.swap(other.where_);
    return *this;
  }
  home_handle(const home_handle&) noexcept = default;
  home_handle& operator=(const home_handle& other) noexcept = default;
  ~home_handle() = default;

  /// nullptr for objects without bytes.
  [[nodiscard]] const std::shared_ptr<const home>& get() const noexcept { return where_; }

 private:
  std::shared_ptr<const home> where_;
};

}  // namespace halocline::ring

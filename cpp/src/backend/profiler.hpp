// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "halocline/backend/capability.hpp"
#include "halocline/backend/profile.hpp"

namespace halocline::backend {

/// Where a sample belongs: taken when its step begins, since its times may come later.
struct sample_place {
  std::uint32_t operation = 0;  ///< number of the operation's name in the builder
  std::uint64_t serial = 0;     ///< outermost operation
  std::uint64_t step = 0;       ///< step of the backend
  op_kind op{};
  const char* kernel = "";  ///< a string literal
};

/// Groups samples. They come in the order of their begins.
class profile_builder {
 public:
  explicit profile_builder(bool kernels);

  /// Begins a step of the backend: the place of its samples.
  [[nodiscard]] sample_place begin_step(op_kind op);
  /// Adds a sample; times count from the profile's begin.
  void add(const sample_place& at, std::uint64_t begin_ns, std::uint64_t end_ns);
  /// What was collected, sorted; the builder is empty then.
  [[nodiscard]] profile finish();

 private:
  /// Span that grows while samples of the same thing follow each other.
  struct open_span {
    std::uint64_t of = 0;
    std::uint32_t name = 0;
    std::size_t number = 0;
    bool open = false;
  };

  [[nodiscard]] std::uint32_t name_of(const std::string& text);
  void extend(open_span& span, std::uint32_t track, std::uint64_t of, std::uint32_t name,
              std::uint64_t begin_ns, std::uint64_t end_ns);

  profile result_;
  std::map<std::tuple<std::uint32_t, op_kind, std::string_view>, std::size_t> rows_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::string path_;
  std::uint64_t steps_ = 0;
  std::array<std::uint64_t, 3> track_end_{};
  open_span operation_;
  open_span step_;
};

/// Times the steps of a backend.
class profiler {
 public:
  virtual ~profiler() = default;
  virtual void begin_step(op_kind op) = 0;
  virtual void end_step() noexcept = 0;
  /// Ends timing. May wait for the device.
  [[nodiscard]] virtual profile finish() = 0;
};

/// Times whole steps with the host's clock: for backends that work synchronously.
[[nodiscard]] std::unique_ptr<profiler> make_host_profiler();

/// A step that is timed if there is a profiler.
class timed_step {
 public:
  timed_step(profiler* by, op_kind op) : by_(by) {
    if (by_ != nullptr) by_->begin_step(op);
  }
  ~timed_step() {
    if (by_ != nullptr) by_->end_step();
  }
  timed_step(const timed_step&) = delete;
  timed_step& operator=(const timed_step&) = delete;

 private:
  profiler* by_;
};

}  // namespace halocline::backend

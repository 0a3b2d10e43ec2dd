// SPDX-License-Identifier: Apache-2.0
#include "backend/ghost/ghost_backend.hpp"

#include <algorithm>
#include <utility>

namespace halocline::backend {
namespace {

class ghost_backend final : public backend {
 public:
  using backend::backend;

  [[nodiscard]] std::string_view name() const noexcept override { return "ghost"; }
  [[nodiscard]] op_set operations(unsigned) const noexcept override { return op_set::everything(); }
  [[nodiscard]] capability describe() const override { return {"ghost (no arithmetic)", "", 1, 0}; }

 protected:
  void run(const job_batch&, const memory::access&) override {}
  void do_upload(std::byte*, std::span<const std::byte>, stream_view) override {}
  void do_download(std::span<std::byte> dst, const std::byte*, stream_view) override {
    std::fill(dst.begin(), dst.end(), std::byte{0});
  }
};

}  // namespace

std::shared_ptr<backend> make_ghost_backend(std::shared_ptr<memory::runtime> runtime) {
  return std::make_shared<ghost_backend>(std::move(runtime));
}

}  // namespace halocline::backend

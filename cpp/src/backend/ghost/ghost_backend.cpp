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
  [[nodiscard]] bool supports(op_kind, unsigned) const noexcept override { return true; }
  [[nodiscard]] capability describe() const override { return {"ghost (no arithmetic)", "", 1, 0}; }

 protected:
  void do_ntt(const ring_tables&, std::span<const unary_job>, const memory::access&, stream_view) override {}
  void do_intt(const ring_tables&, std::span<const unary_job>, const memory::access&, stream_view) override {}
  void do_add(const ring_tables&, std::span<const binary_job>, const memory::access&, stream_view) override {}
  void do_sub(const ring_tables&, std::span<const binary_job>, const memory::access&, stream_view) override {}
  void do_negate(const ring_tables&, std::span<const unary_job>, const memory::access&,
                 stream_view) override {}
  void do_multiply(const ring_tables&, std::span<const binary_job>, const memory::access&,
                   stream_view) override {}
  void do_multiply_add(const ring_tables&, std::span<const binary_job>, const memory::access&,
                       stream_view) override {}
  void do_dot(const ring_tables&, std::span<const dot_job>, const memory::access&, stream_view) override {}
  void do_tensor(const ring_tables&, std::span<const tensor_job>, const memory::access&,
                 stream_view) override {}
  void do_scalar_multiply(const ring_tables&, std::span<const scalar_job>, const memory::access&,
                          stream_view) override {}
  void do_scalar_add(const ring_tables&, std::span<const scalar_job>, const memory::access&,
                     stream_view) override {}
  void do_linear_combine(const ring_tables&, std::span<const linear_job>, const memory::access&,
                         stream_view) override {}
  void do_ntt_linear_combine(const ring_tables&, std::span<const linear_job>, const memory::access&,
                             stream_view) override {}
  void do_automorphism(const ring_tables&, std::span<const automorphism_job>, const memory::access&,
                       stream_view) override {}
  void do_base_convert(const ring_tables&, std::span<const convert_job>, const memory::access&,
                       stream_view) override {}
  void do_key_multiply_accumulate(const ring_tables&, std::span<const key_job>, const memory::access&,
                                  stream_view) override {}
  void do_encode_expand(const ring_tables&, std::span<const encode_job>, const memory::access&,
                        stream_view) override {}
  void do_sample_uniform(const ring_tables&, std::span<const uniform_job>, const memory::access&,
                         stream_view) override {}
  void do_sample_small(const ring_tables&, std::span<const small_job>, const memory::access&,
                       stream_view) override {}
  void do_slot_transform(const ring_tables&, std::span<const slot_job>, const memory::access&,
                         stream_view) override {}
  void do_round_coefficients(const ring_tables&, std::span<const round_job>, const memory::access&,
                             stream_view) override {}
  void do_lift(const ring_tables&, std::span<const lift_job>, const memory::access&, stream_view) override {}
  void do_copy(const ring_tables&, std::span<const unary_job>, const memory::access&, stream_view) override {}
  void do_set_zero(const ring_tables&, std::span<const limb_view>, const memory::access&,
                   stream_view) override {}
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

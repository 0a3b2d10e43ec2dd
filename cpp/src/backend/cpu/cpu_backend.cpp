// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_backend.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "backend/cpu/client_kernels.hpp"
#include "backend/cpu/executor.hpp"
#include "backend/cpu/kernel_set.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend {
namespace {

using cpu::executor;
using cpu::kernel_set;

class cpu_backend final : public backend {
 public:
  cpu_backend(std::shared_ptr<memory::runtime> runtime, unsigned threads, bool scalar)
      : backend(std::move(runtime)),
        pool_(threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency())),
        kernels32_(scalar ? cpu::scalar_kernels<std::uint32_t>() : cpu::simd_kernels<std::uint32_t>()),
        kernels64_(scalar ? cpu::scalar_kernels<std::uint64_t>() : cpu::simd_kernels<std::uint64_t>()),
        scalar_(scalar) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "cpu"; }
  [[nodiscard]] bool supports(op_kind, unsigned word_bits) const noexcept override {
    return word_bits == 32 || word_bits == 64;
  }
  [[nodiscard]] capability describe() const override {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    return {text("CPU (", kernels32_.target, "), ", pool_.threads(),
                 pool_.threads() == 1 ? " thread" : " threads"),
            kernels32_.target, pool_.threads(),
            pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0};
  }

 protected:
  void do_ntt(const ring_tables& ring, std::span<const unary_job> jobs, const memory::access& at,
              stream_view) override {
    run(ring, at, [&](const auto& on, const auto& kernels) { on.run_transform(kernels.ntt, jobs); });
  }
  void do_intt(const ring_tables& ring, std::span<const unary_job> jobs, const memory::access& at,
               stream_view) override {
    run(ring, at, [&](const auto& on, const auto& kernels) { on.run_transform(kernels.intt, jobs); });
  }
  void do_add(const ring_tables& ring, std::span<const binary_job> jobs, const memory::access& at,
              stream_view) override {
    run(ring, at, [&](const auto& on, const auto& kernels) { on.run_binary(kernels.add, jobs); });
  }
  void do_sub(const ring_tables& ring, std::span<const binary_job> jobs, const memory::access& at,
              stream_view) override {
    run(ring, at, [&](const auto& on, const auto& kernels) { on.run_binary(kernels.sub, jobs); });
  }
  void do_negate(const ring_tables& ring, std::span<const unary_job> jobs, const memory::access& at,
                 stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_negate(jobs); });
  }
  void do_multiply(const ring_tables& ring, std::span<const binary_job> jobs, const memory::access& at,
                   stream_view) override {
    run(ring, at, [&](const auto& on, const auto& kernels) { on.run_binary(kernels.multiply, jobs); });
  }
  void do_multiply_add(const ring_tables& ring, std::span<const binary_job> jobs, const memory::access& at,
                       stream_view) override {
    run(ring, at, [&](const auto& on, const auto& kernels) { on.run_binary(kernels.multiply_add, jobs); });
  }
  void do_dot(const ring_tables& ring, std::span<const dot_job> jobs, const memory::access& at,
              stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_dot(jobs); });
  }
  void do_tensor(const ring_tables& ring, std::span<const tensor_job> jobs, const memory::access& at,
                 stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_tensor(jobs); });
  }
  void do_scalar_multiply(const ring_tables& ring, std::span<const scalar_job> jobs, const memory::access& at,
                          stream_view) override {
    run(ring, at, [&](const auto& on, const auto& kernels) { on.run_scalar(kernels.scalar_multiply, jobs); });
  }
  void do_scalar_add(const ring_tables& ring, std::span<const scalar_job> jobs, const memory::access& at,
                     stream_view) override {
    run(ring, at, [&](const auto& on, const auto& kernels) { on.run_scalar(kernels.scalar_add, jobs); });
  }
  void do_linear_combine(const ring_tables& ring, std::span<const linear_job> jobs, const memory::access& at,
                         stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_linear_combine(jobs); });
  }
  void do_ntt_linear_combine(const ring_tables& ring, std::span<const linear_job> jobs,
                             const memory::access& at, stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_ntt_linear_combine(jobs); });
  }
  void do_automorphism(const ring_tables& ring, std::span<const automorphism_job> jobs,
                       const memory::access& at, stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_automorphism(jobs); });
  }
  void do_base_convert(const ring_tables& ring, std::span<const convert_job> jobs, const memory::access& at,
                       stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_base_convert(jobs); });
  }
  void do_key_multiply_accumulate(const ring_tables& ring, std::span<const key_job> jobs,
                                  const memory::access& at, stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_key_multiply_accumulate(jobs); });
  }
  void do_encode_expand(const ring_tables& ring, std::span<const encode_job> jobs, const memory::access& at,
                        stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_encode_expand(jobs); });
  }
  void do_sample_uniform(const ring_tables& ring, std::span<const uniform_job> jobs, const memory::access& at,
                         stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_sample_uniform(jobs); });
  }
  void do_sample_small(const ring_tables& ring, std::span<const small_job> jobs, const memory::access& at,
                       stream_view) override {
    cpu::run_sample_small({pool_, ring, at, scalar_}, jobs);
  }
  void do_slot_transform(const ring_tables& ring, std::span<const slot_job> jobs, const memory::access& at,
                         stream_view) override {
    cpu::run_slot_transform({pool_, ring, at, scalar_}, jobs);
  }
  void do_round_coefficients(const ring_tables& ring, std::span<const round_job> jobs,
                             const memory::access& at, stream_view) override {
    cpu::run_round_coefficients({pool_, ring, at, scalar_}, jobs);
  }
  void do_lift(const ring_tables& ring, std::span<const lift_job> jobs, const memory::access& at,
               stream_view) override {
    const cpu::client_site site{pool_, ring, at, scalar_};
    ring.word_bits == 32 ? cpu::run_lift<std::uint32_t>(site, jobs)
                         : cpu::run_lift<std::uint64_t>(site, jobs);
  }
  void do_copy(const ring_tables& ring, std::span<const unary_job> jobs, const memory::access& at,
               stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_copy(jobs); });
  }
  void do_set_zero(const ring_tables& ring, std::span<const limb_view> views, const memory::access& at,
                   stream_view) override {
    run(ring, at, [&](const auto& on, const auto&) { on.run_zero(views); });
  }
  void do_upload(std::byte* dst, std::span<const std::byte> src, stream_view) override {
    std::memcpy(dst, src.data(), src.size());
  }
  void do_download(std::span<std::byte> dst, const std::byte* src, stream_view) override {
    std::memcpy(dst.data(), src, dst.size());
  }

 private:
  /// Calls `body(executor, kernels)` for the word of the ring.
  template <typename BodyT>
  void run(const ring_tables& ring, const memory::access& at, const BodyT& body) const {
    if (ring.word_bits == 32) {
      body(executor<std::uint32_t>(kernels32_, pool_, ring, at), kernels32_);
    } else {
      body(executor<std::uint64_t>(kernels64_, pool_, ring, at), kernels64_);
    }
  }

  mutable cpu::worker_pool pool_;
  kernel_set<std::uint32_t> kernels32_;
  kernel_set<std::uint64_t> kernels64_;
  bool scalar_;
};

}  // namespace

std::shared_ptr<backend> make_cpu_backend(std::shared_ptr<memory::runtime> runtime, unsigned threads,
                                          bool scalar) {
  return std::make_shared<cpu_backend>(std::move(runtime), threads, scalar);
}

}  // namespace halocline::backend

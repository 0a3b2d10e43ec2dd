// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/cuda_backend.hpp"

#include <utility>

#include "backend/cuda/device/device_context.hpp"
#include "backend/cuda/device/driver_calls.hpp"
#include "backend/cuda/device/kernel_profiler.hpp"
#include "backend/cuda/device/nvtx_ranges.hpp"
#include "backend/cuda/executor.hpp"
#include "backend/cuda/graph/launch_recorder.hpp"
#include "backend/cuda/memory/cuda_memory.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend {
namespace {

using namespace cuda;

class cuda_backend final : public backend {
 public:
  cuda_backend(std::shared_ptr<memory::runtime> runtime, std::shared_ptr<device_context> device)
      : backend(std::move(runtime)),
        device_(std::move(device)),
        recorder_(*device_),
        name_(text("cuda:", device_->ordinal())) {
    show_operations();
  }
  ~cuda_backend() override {
    device_->flush_quietly();
    device_->observe(nullptr);
  }

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] bool supports(op_kind, unsigned word_bits) const noexcept override {
    return word_bits == 32 || word_bits == 64;
  }
  [[nodiscard]] capability describe() const override {
    const cudaDeviceProp& of = device_->properties();
    return {text(of.name, " (compute capability ", of.major, ".", of.minor, ")"),
            text("sm_", device_->architecture()), static_cast<unsigned>(of.multiProcessorCount),
            of.totalGlobalMem, static_cast<std::size_t>(of.l2CacheSize)};
  }

  void begin_program(std::uint64_t key) override {
    // Where bytes move, each step waits for its own operands: there is nothing to put off.
    if (active_profiler() != nullptr || this->runtime().moves()) return;
    recorder_.begin_program(key);
    observe();
  }
  void end_program() override {
    if (!recorder_.recording()) return;
    device_->make_current();
    try {
      recorder_.end_program();
    } catch (...) {
      observe();
      throw;
    }
    observe();
  }
  [[nodiscard]] bool makes_graphs() const noexcept override { return recorder_.used(); }
  void use_graphs(bool wanted) override { recorder_.use(wanted); }
  [[nodiscard]] graph_statistics graphs() const override { return recorder_.statistics(); }
  void wait() override {
    device_->make_current();
    device_->wait();
  }
  [[nodiscard]] driver_counters driver_calls() const override { return driver::counted(); }

 protected:
  [[nodiscard]] std::unique_ptr<profiler> make_profiler() override {
    device_->make_current();
    auto made = std::make_unique<kernel_profiler>(*device_);
    device_->observe(made.get());
    return made;
  }
  void end_profiler() noexcept override { observe(); }

  void do_ntt(const ring_tables& ring, std::span<const unary_job> jobs, const memory::access& at,
              stream_view) override {
    run(op_kind::ntt, ring, at, [&](const auto& on) { on.ntt(jobs); });
  }
  void do_intt(const ring_tables& ring, std::span<const unary_job> jobs, const memory::access& at,
               stream_view) override {
    run(op_kind::intt, ring, at, [&](const auto& on) { on.intt(jobs); });
  }
  void do_add(const ring_tables& ring, std::span<const binary_job> jobs, const memory::access& at,
              stream_view) override {
    run(op_kind::add, ring, at, [&](const auto& on) { on.binary(binary_kind::add, jobs); });
  }
  void do_sub(const ring_tables& ring, std::span<const binary_job> jobs, const memory::access& at,
              stream_view) override {
    run(op_kind::sub, ring, at, [&](const auto& on) { on.binary(binary_kind::sub, jobs); });
  }
  void do_negate(const ring_tables& ring, std::span<const unary_job> jobs, const memory::access& at,
                 stream_view) override {
    run(op_kind::negate, ring, at, [&](const auto& on) { on.negate(jobs); });
  }
  void do_multiply(const ring_tables& ring, std::span<const binary_job> jobs, const memory::access& at,
                   stream_view) override {
    run(op_kind::multiply, ring, at, [&](const auto& on) { on.binary(binary_kind::multiply, jobs); });
  }
  void do_multiply_add(const ring_tables& ring, std::span<const binary_job> jobs, const memory::access& at,
                       stream_view) override {
    run(op_kind::multiply_add, ring, at, [&](const auto& on) { on.binary(binary_kind::multiply_add, jobs); });
  }
  void do_dot(const ring_tables& ring, std::span<const dot_job> jobs, const memory::access& at,
              stream_view) override {
    run(op_kind::dot, ring, at, [&](const auto& on) { on.dot(jobs); });
  }
  void do_tensor(const ring_tables& ring, std::span<const tensor_job> jobs, const memory::access& at,
                 stream_view) override {
    run(op_kind::tensor, ring, at, [&](const auto& on) { on.tensor(jobs); });
  }
  void do_scalar_multiply(const ring_tables& ring, std::span<const scalar_job> jobs, const memory::access& at,
                          stream_view) override {
    run(op_kind::scalar_multiply, ring, at, [&](const auto& on) { on.scalar(scalar_kind::multiply, jobs); });
  }
  void do_scalar_add(const ring_tables& ring, std::span<const scalar_job> jobs, const memory::access& at,
                     stream_view) override {
    run(op_kind::scalar_add, ring, at, [&](const auto& on) { on.scalar(scalar_kind::add, jobs); });
  }
  void do_linear_combine(const ring_tables& ring, std::span<const linear_job> jobs, const memory::access& at,
                         stream_view) override {
    run(op_kind::linear_combine, ring, at, [&](const auto& on) { on.linear_combine(jobs); });
  }
  void do_ntt_linear_combine(const ring_tables& ring, std::span<const linear_job> jobs,
                             const memory::access& at, stream_view) override {
    run(op_kind::ntt_linear_combine, ring, at, [&](const auto& on) { on.ntt_linear_combine(jobs); });
  }
  void do_automorphism(const ring_tables& ring, std::span<const automorphism_job> jobs,
                       const memory::access& at, stream_view) override {
    run(op_kind::automorphism, ring, at, [&](const auto& on) { on.automorphism(jobs); });
  }
  void do_base_convert(const ring_tables& ring, std::span<const convert_job> jobs, const memory::access& at,
                       stream_view) override {
    run(op_kind::base_convert, ring, at, [&](const auto& on) { on.base_convert(jobs); });
  }
  void do_key_multiply_accumulate(const ring_tables& ring, std::span<const key_job> jobs,
                                  const memory::access& at, stream_view) override {
    run(op_kind::key_multiply_accumulate, ring, at,
        [&](const auto& on) { on.key_multiply_accumulate(jobs); });
  }
  void do_encode_expand(const ring_tables& ring, std::span<const encode_job> jobs, const memory::access& at,
                        stream_view) override {
    run(op_kind::encode_expand, ring, at, [&](const auto& on) { on.encode_expand(jobs); });
  }
  void do_sample_uniform(const ring_tables& ring, std::span<const uniform_job> jobs, const memory::access& at,
                         stream_view) override {
    run(op_kind::sample_uniform, ring, at, [&](const auto& on) { on.sample_uniform(jobs); });
  }
  void do_sample_small(const ring_tables& ring, std::span<const small_job> jobs, const memory::access& at,
                       stream_view) override {
    run(op_kind::sample_small, ring, at, [&](const auto& on) { on.sample_small(jobs); });
  }
  void do_slot_transform(const ring_tables& ring, std::span<const slot_job> jobs, const memory::access& at,
                         stream_view) override {
    run(op_kind::slot_transform, ring, at, [&](const auto& on) { on.slot_transform(jobs); });
  }
  void do_round_coefficients(const ring_tables& ring, std::span<const round_job> jobs,
                             const memory::access& at, stream_view) override {
    run(op_kind::round_coefficients, ring, at, [&](const auto& on) { on.round_coefficients(jobs); });
  }
  void do_lift(const ring_tables& ring, std::span<const lift_job> jobs, const memory::access& at,
               stream_view) override {
    run(op_kind::lift, ring, at, [&](const auto& on) { on.lift(jobs); });
  }
  void do_copy(const ring_tables& ring, std::span<const unary_job> jobs, const memory::access& at,
               stream_view) override {
    run(op_kind::copy, ring, at, [&](const auto& on) { on.copy(jobs); });
  }
  void do_set_zero(const ring_tables& ring, std::span<const limb_view> views, const memory::access& at,
                   stream_view) override {
    run(op_kind::set_zero, ring, at, [&](const auto& on) { on.set_zero(views); });
  }
  void do_upload(std::byte* dst, std::span<const std::byte> src, stream_view) override {
    device_->make_current();
    device_->flush();
    // From pageable memory: returns when the source has been read.
    check(cudaMemcpyAsync(dst, src.data(), src.size(), cudaMemcpyHostToDevice, device_->compute()), "upload");
  }
  void do_download(std::span<std::byte> dst, const std::byte* src, stream_view) override {
    device_->make_current();
    device_->flush();
    check(cudaMemcpyAsync(dst.data(), src, dst.size(), cudaMemcpyDeviceToHost, device_->compute()),
          "download");
    device_->wait();
  }

 private:
  /// Calls `body(executor)` for the word of the ring.
  template <typename BodyT>
  void run(op_kind op, const ring_tables& ring, const memory::access& at, const BodyT& body) const {
    device_->make_current();
    const nvtx_range range(to_string(op));
    if (ring.word_bits == 32) {
      body(executor<std::uint32_t>(*device_, to_string(op), ring, at));
    } else {
      body(executor<std::uint64_t>(*device_, to_string(op), ring, at));
    }
  }

  /// Kernels are seen by the recorder while a program is open, and by nobody else.
  void observe() noexcept { device_->observe(recorder_.recording() ? &recorder_ : nullptr); }

  std::shared_ptr<device_context> device_;
  launch_recorder recorder_;
  std::string name_;
};

}  // namespace

std::shared_ptr<backend> make_cuda_backend(int ordinal, const backend_options& options) {
  return make_cuda_backend(device_context::open(ordinal), options);
}

std::shared_ptr<backend> make_cuda_backend(std::shared_ptr<device_context> device,
                                           const backend_options& options) {
  memory::runtime_options memory = options.memory;
  memory.ghost = false;
  memory.device = make_cuda_memory(device);
  return std::make_shared<cuda_backend>(memory::runtime::create(memory), std::move(device));
}

std::vector<std::string> cuda_devices() { return device_names(); }

}  // namespace halocline::backend

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
#include "backend/cuda/retrieval/row_select_choice.hpp"
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

  [[nodiscard]] const std::shared_ptr<device_context>& device() const noexcept { return device_; }
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] op_set operations(unsigned word_bits) const noexcept override {
    if (word_bits == 32) return word32_.operations();
    return word_bits == 64 ? word64_.operations() : op_set();
  }
  [[nodiscard]] capability describe() const override {
    const cudaDeviceProp& of = device_->properties();
    return {text(of.name, " (compute capability ", of.major, ".", of.minor, ")"),
            text("sm_", device_->architecture()),
            static_cast<unsigned>(of.multiProcessorCount),
            of.totalGlobalMem,
            static_cast<std::size_t>(of.l2CacheSize),
            point_block_of(device_->architecture())};
  }

  void begin_program(std::uint64_t key) override {
    // Where bytes move, each step waits for its own operands, so no launch can be deferred.
    if (active_profiler() != nullptr || this->runtime().moves()) return;
    recorder_.begin_program(key);
    observe();
  }
  void end_program() override {
    if (!recorder_.begun()) return;
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

  void run(const job_batch& batch, const memory::access& at) override {
    device_->make_current();
    const nvtx_range range(to_string(batch.op()));
    if (batch.ring().word_bits == 32) {
      word32_.run(executor<std::uint32_t>(*device_, batch.ring(), at, batch.op()), batch);
    } else {
      word64_.run(executor<std::uint64_t>(*device_, batch.ring(), at, batch.op()), batch);
    }
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
  /// The recorder observes kernels while a program is open; there is no other observer.
  void observe() noexcept { device_->observe(recorder_.begun() ? &recorder_ : nullptr); }

  std::shared_ptr<device_context> device_;
  launch_recorder recorder_;
  op_table<executor<std::uint32_t>> word32_ = all_operations<std::uint32_t>();
  op_table<executor<std::uint64_t>> word64_ = all_operations<std::uint64_t>();
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

std::shared_ptr<device_context> device_of(const backend& of) noexcept {
  const auto* const made = dynamic_cast<const cuda_backend*>(&of);
  return made != nullptr ? made->device() : nullptr;
}

std::vector<std::string> cuda_devices() { return device_names(); }

}  // namespace halocline::backend

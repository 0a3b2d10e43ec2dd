// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_backend.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

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
        word32_(scalar),
        word64_(scalar),
        scalar_(scalar) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "cpu"; }
  [[nodiscard]] op_set operations(unsigned word_bits) const noexcept override {
    if (word_bits == 32) return word32_.operations.operations();
    return word_bits == 64 ? word64_.operations.operations() : op_set();
  }
  [[nodiscard]] capability describe() const override {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    return {text("CPU (", word32_.kernels.target, "), ", pool_.threads(),
                 pool_.threads() == 1 ? " thread" : " threads"),
            word32_.kernels.target, pool_.threads(),
            pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0};
  }

 protected:
  void run(const job_batch& batch, const memory::access& at) override {
    if (batch.ring().word_bits == 32) {
      run(word32_, batch, at);
    } else {
      run(word64_, batch, at);
    }
  }
  void do_upload(std::byte* dst, std::span<const std::byte> src, stream_view) override {
    std::memcpy(dst, src.data(), src.size());
  }
  void do_download(std::span<std::byte> dst, const std::byte* src, stream_view) override {
    std::memcpy(dst.data(), src, dst.size());
  }

 private:
  /// Kernels of one word, and the operations made of them.
  template <typename WordT>
  struct word_side {
    kernel_set<WordT> kernels;
    op_table<executor<WordT>> operations = all_operations();

    [[nodiscard]] static op_table<executor<WordT>> all_operations() {
      const op_table<executor<WordT>> common{
          cpu::elementwise_operations<WordT>(), cpu::rns_operations<WordT>(),
          cpu::key_dot_operations<WordT>(), cpu::client_operations<WordT>(), cpu::matrix_operations<WordT>()};
      if constexpr (sizeof(WordT) == 4) {
        return op_table<executor<WordT>>{common, cpu::retrieval_operations()};
      } else {
        return common;
      }
    }
    explicit word_side(bool scalar)
        : kernels(scalar ? cpu::scalar_kernels<WordT>() : cpu::simd_kernels<WordT>()) {}
  };
  template <typename WordT>
  void run(const word_side<WordT>& side, const job_batch& batch, const memory::access& at) {
    side.operations.run(executor<WordT>(side.kernels, pool_, batch.ring(), at, scalar_), batch);
  }

  cpu::worker_pool pool_;
  word_side<std::uint32_t> word32_;
  word_side<std::uint64_t> word64_;
  bool scalar_;
};

}  // namespace

std::shared_ptr<backend> make_cpu_backend(std::shared_ptr<memory::runtime> runtime, unsigned threads,
                                          bool scalar) {
  return std::make_shared<cpu_backend>(std::move(runtime), threads, scalar);
}

}  // namespace halocline::backend

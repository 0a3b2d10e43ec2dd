// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/sycl_backend.hpp"

#include <utility>

#include "backend/sycl/executor.hpp"
#include "backend/sycl/memory/sycl_memory.hpp"
#include "backend/sycl/runtime/sycl_runtime.hpp"
#include "halocline/backend/devices.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend {
namespace {

using namespace sycl;

/// What a device has for one word.
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> operations_of(const sycl_bridge::device_facts& facts) {
  const op_table<executor<WordT>> integers{elementwise_operations<WordT>(), ntt_operations<WordT>(),
                                           rns_operations<WordT>(), sample_operations<WordT>()};
  return facts.doubles ? op_table<executor<WordT>>{integers, double_operations<WordT>()} : integers;
}

class sycl_backend final : public backend {
 public:
  sycl_backend(std::shared_ptr<memory::runtime> runtime, std::shared_ptr<device_context> device)
      : backend(std::move(runtime)),
        device_(std::move(device)),
        word32_(operations_of<std::uint32_t>(device_->facts())),
        word64_(operations_of<std::uint64_t>(device_->facts())),
        name_(text("sycl:", device_->ordinal())) {}

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] op_set operations(unsigned word_bits) const noexcept override {
    if (word_bits == 32) return word32_.operations();
    return word_bits == 64 ? word64_.operations() : op_set();
  }
  [[nodiscard]] capability describe() const override {
    const sycl_bridge::device_facts& of = device_->facts();
    return {text(of.name, " (", of.platform, " ", of.driver, ")"),
            of.doubles ? "SPIR-V" : "SPIR-V without doubles", of.units, of.memory_bytes, of.cache_bytes};
  }
  void wait() override { device_->wait(); }

 protected:
  void run(const job_batch& batch, const memory::access& at) override {
    device_->begin_operation();
    if (batch.ring().word_bits == 32) {
      word32_.run(executor<std::uint32_t>(*device_, batch.ring(), at), batch);
    } else {
      word64_.run(executor<std::uint64_t>(*device_, batch.ring(), at), batch);
    }
    // The host times whole operations: it has to see their ends.
    if (active_profiler() != nullptr) device_->wait();
  }
  void do_upload(std::byte* dst, std::span<const std::byte> src, stream_view) override {
    check(device_->use().copy(0, dst, src.data(), src.size()), "upload");
    device_->wait();
  }
  void do_download(std::span<std::byte> dst, const std::byte* src, stream_view) override {
    check(device_->use().copy(0, dst.data(), src, dst.size()), "download");
    device_->wait();
  }

 private:
  std::shared_ptr<device_context> device_;
  op_table<executor<std::uint32_t>> word32_;
  op_table<executor<std::uint64_t>> word64_;
  std::string name_;
};

}  // namespace

std::shared_ptr<backend> make_sycl_backend(unsigned ordinal, const backend_options& options) {
  std::shared_ptr<device_context> device = device_context::open(ordinal);
  memory::runtime_options memory = options.memory;
  memory.ghost = false;
  memory.device = make_sycl_memory(device);
  return std::make_shared<sycl_backend>(memory::runtime::create(memory), std::move(device));
}

namespace {

/// How many devices a named runtime has.
[[nodiscard]] unsigned count_devices() {
  unsigned count = 0;
  if (runtime_root()) check(bridge().count(count), "look for devices");
  return count;
}

}  // namespace

std::string sycl_problem() {
  try {
    return count_devices() == 0 && runtime_root() ? "the runtime finds no device with unified shared memory" : "";
  } catch (const error& found) {
    return found.what();
  }
}

std::vector<std::string> sycl_devices() {
  std::vector<std::string> names;
  unsigned count = 0;
  try {
    count = count_devices();
  } catch (const error&) {  // `sycl_problem` says what
  }
  for (unsigned i = 0; i < count; ++i) names.push_back(text("sycl:", i));
  return names;
}

}  // namespace halocline::backend

// SPDX-License-Identifier: Apache-2.0
// Not part of the build: compiled with the headers of an installed SYCL runtime (runtime/bridge_loader.cpp).
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <sycl/sycl.hpp>
#include <utility>
#include <vector>

#include "bridge_api.hpp"

namespace {

namespace exp = sycl::ext::oneapi::experimental;
using namespace halocline::sycl_bridge;

/// Runs `body`; an exception becomes the text of the thread.
template <typename BodyT>
outcome attempt(const BodyT& body) noexcept {
  static thread_local std::string failure;
  try {
    body();
    return nullptr;
  } catch (const std::exception& error) {
    try {
      failure = error.what();
      return failure.c_str();
    } catch (...) {
      return "out of host memory";
    }
  } catch (...) {
    return "unknown exception";
  }
}

template <std::size_t Size>
void put(char (&to)[Size], const std::string& text) {
  const std::size_t count = text.size() < Size ? text.size() : Size - 1;
  std::memcpy(to, text.data(), count);
  to[count] = '\0';
}

/// The CPUs and GPUs that SYCL finds, GPUs first.
std::vector<sycl::device> all_devices() {
  std::vector<sycl::device> found;
  for (const auto type : {sycl::info::device_type::gpu, sycl::info::device_type::cpu}) {
    for (const sycl::device& each : sycl::device::get_devices(type)) {
      if (each.has(sycl::aspect::usm_device_allocations) && each.has(sycl::aspect::usm_host_allocations)) {
        found.push_back(each);
      }
    }
  }
  return found;
}

class queue_event final : public event {
 public:
  explicit queue_event(sycl::event of) : event_(std::move(of)) {}
  outcome passed(bool& answer) noexcept override {
    return attempt([&] {
      answer = event_.get_info<sycl::info::event::command_execution_status>() ==
               sycl::info::event_command_status::complete;
    });
  }
  outcome wait() noexcept override {
    return attempt([&] { event_.wait_and_throw(); });
  }
  outcome nanoseconds(std::uint64_t& at) noexcept override {
    return attempt([&] { at = event_.get_profiling_info<sycl::info::event_profiling::command_end>(); });
  }
  [[nodiscard]] const sycl::event& get() const noexcept { return event_; }

 private:
  sycl::event event_;
};

class image final : public program {
 public:
  explicit image(sycl::kernel_bundle<sycl::bundle_state::executable> of) : bundle_(std::move(of)) {}
  outcome find(const char* name, void*& kernel) noexcept override {
    return attempt([&] {
      kernels_.push_back(std::make_unique<sycl::kernel>(bundle_.ext_oneapi_get_kernel(name)));
      kernel = kernels_.back().get();
    });
  }

 private:
  sycl::kernel_bundle<sycl::bundle_state::executable> bundle_;
  std::vector<std::unique_ptr<sycl::kernel>> kernels_;
};

class opened final : public device {
 public:
  /// In the default context of the platform, so that kernels of one device serve all its queues.
  explicit opened(const sycl::device& of) : device_(of), context_(sycl::queue(of).get_context()) {
    for (int i = 0; i < 3; ++i) {
      queues_.emplace_back(
          context_, device_,
          sycl::property_list{sycl::property::queue::in_order(), sycl::property::queue::enable_profiling()});
    }
  }

  outcome describe(device_facts& facts) noexcept override {
    return attempt([&] {
      put(facts.name, device_.get_info<sycl::info::device::name>());
      put(facts.driver, device_.get_info<sycl::info::device::driver_version>());
      put(facts.platform, device_.get_platform().get_info<sycl::info::platform::name>());
      facts.processor = device_.is_cpu();
      facts.doubles = device_.has(sycl::aspect::fp64);
      facts.shared = device_.has(sycl::aspect::usm_shared_allocations);
      facts.system = device_.has(sycl::aspect::usm_system_allocations);
      facts.units = device_.get_info<sycl::info::device::max_compute_units>();
      facts.memory_bytes = device_.get_info<sycl::info::device::global_mem_size>();
      facts.cache_bytes = device_.get_info<sycl::info::device::global_mem_cache_size>();
      facts.local_bytes = device_.get_info<sycl::info::device::local_mem_size>();
      facts.group_limit = device_.get_info<sycl::info::device::max_work_group_size>();
      facts.allocation_limit = device_.get_info<sycl::info::device::max_mem_alloc_size>();
    });
  }

  outcome compile(const source_text* texts, std::size_t count, const char* const* options,
                  std::size_t option_count, void (*take)(void*, const void*, std::size_t),
                  void* to) noexcept override {
    return attempt([&] {
      exp::include_files headers;
      for (std::size_t i = 1; i < count; ++i) headers.add(texts[i].name, texts[i].contents);
      auto source = exp::create_kernel_bundle_from_source(
          context_, exp::source_language::sycl, std::string(texts[0].contents), exp::properties{headers});
      std::string log;
      const std::vector<std::string> flags(options, options + option_count);
      try {
        const auto built =
            exp::build(source, {device_}, exp::properties{exp::build_options{flags}, exp::save_log{&log}});
        hand_over(built, take, to);
      } catch (const std::exception& error) {
        throw std::runtime_error(std::string(error.what()) + "\n" + log);
      }
    });
  }
  outcome load(const void* spirv, std::size_t bytes, program*& made) noexcept override {
    return attempt([&] {
      std::vector<std::byte> words(bytes);
      std::memcpy(words.data(), spirv, bytes);
      auto source = exp::create_kernel_bundle_from_source(context_, exp::source_language::spirv, words);
      made = new image(exp::build(source, {device_}));
    });
  }
  outcome launch(void* kernel, std::size_t groups, std::size_t group_size,
                 const void* parameter) noexcept override {
    return attempt([&] {
      queues_[0].submit([&](sycl::handler& on) {
        on.set_arg(0, const_cast<void*>(parameter));
        on.parallel_for(sycl::nd_range<1>(groups * group_size, group_size),
                        *static_cast<const sycl::kernel*>(kernel));
      });
    });
  }

  outcome allocate(place in, std::size_t bytes, void*& made) noexcept override {
    return attempt([&] {
      constexpr sycl::usm::alloc kinds[] = {sycl::usm::alloc::device, sycl::usm::alloc::shared,
                                            sycl::usm::alloc::host};
      constexpr std::size_t alignment = 4096;
      made = sycl::aligned_alloc(alignment, bytes, device_, context_, kinds[static_cast<int>(in)]);
    });
  }
  void release(void* data) noexcept override {
    (void)attempt([&] { sycl::free(data, context_); });
  }
  outcome copy(unsigned queue, void* to, const void* from, std::size_t bytes) noexcept override {
    return attempt([&] { queues_[queue].memcpy(to, from, bytes); });
  }
  outcome fill(unsigned queue, void* at, int byte, std::size_t bytes) noexcept override {
    return attempt([&] { queues_[queue].memset(at, byte, bytes); });
  }
  outcome prefetch(unsigned queue, const void* data, std::size_t bytes) noexcept override {
    return attempt([&] { queues_[queue].prefetch(data, bytes); });
  }

  outcome mark(unsigned queue, event*& made) noexcept override {
    return attempt([&] { made = new queue_event(queues_[queue].ext_oneapi_submit_barrier()); });
  }
  outcome order(unsigned queue, event* moment) noexcept override {
    return attempt(
        [&] { queues_[queue].ext_oneapi_submit_barrier({static_cast<queue_event*>(moment)->get()}); });
  }
  outcome wait(unsigned queue) noexcept override {
    return attempt([&] { queues_[queue].wait_and_throw(); });
  }

 private:
  static void hand_over(const sycl::kernel_bundle<sycl::bundle_state::executable>& built,
                        void (*take)(void*, const void*, std::size_t), void* to) {
    for (const auto& each : built) {
      const std::vector<std::byte> bytes = each.ext_oneapi_get_backend_content();
      take(to, bytes.data(), bytes.size());
    }
  }

  sycl::device device_;
  sycl::context context_;
  std::vector<sycl::queue> queues_;
};

outcome count_devices(unsigned& devices) {
  return attempt([&] { devices = static_cast<unsigned>(all_devices().size()); });
}

outcome open_device(unsigned ordinal, device*& made) {
  return attempt([&] {
    const std::vector<sycl::device> all = all_devices();
    if (ordinal >= all.size()) {
      throw std::runtime_error("no such device; SYCL finds " + std::to_string(all.size()) +
                               " that have unified shared memory");
    }
    made = new opened(all[ordinal]);
  });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const entry_points halocline_sycl_bridge_v1;
const entry_points halocline_sycl_bridge_v1{api_version, count_devices, open_device};

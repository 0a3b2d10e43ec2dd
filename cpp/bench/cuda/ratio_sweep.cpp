// SPDX-License-Identifier: Apache-2.0
#include "cuda/ratio_sweep.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "backend/cuda/device/cuda_api.hpp"
#include "cuda/ratio_blocks.hpp"
#include "cuda/ratio_kernels.hpp"

namespace halocline::bench {
namespace {

using backend::cuda::check;
using clock = std::chrono::steady_clock;

constexpr std::array oversubscriptions{0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0};
constexpr std::array async_shares{0.0, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95};
/// A kernel over all chunks is run in this many parts, and what is beyond the budget leaves behind each of
/// them: on a small card pages would leave while the kernel runs.
constexpr std::size_t slices = 8;

/// Stream, pool, staging memory and list of chunks, for all configurations.
class bench_device {
 public:
  explicit bench_device(std::size_t most_bytes) {
    cudaMemPoolProps wanted{};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location = {cudaMemLocationTypeDevice, 0};
    check(cudaMemPoolCreate(&pool, &wanted), "create a memory pool");
    std::uint64_t keep = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "set up a memory pool");
    check(cudaHostAlloc(&staging, block_bytes, cudaHostAllocDefault), "allocate pinned memory");
    std::fill_n(static_cast<float*>(staging), block_bytes / sizeof(float), 1.0F);
    check(cudaMalloc(&list, most_bytes / chunk_bytes * sizeof(float*)), "allocate the list of chunks");
  }
  ~bench_device() {
    cudaDeviceSynchronize();
    cudaFree(list);
    cudaFreeHost(staging);
    cudaMemPoolDestroy(pool);
  }
  bench_device(const bench_device&) = delete;
  bench_device& operator=(const bench_device&) = delete;

  void wait() const { check(cudaStreamSynchronize(stream.get()), "ratio: wait"); }

  backend::cuda::stream stream;
  cudaMemPool_t pool = nullptr;
  void* staging = nullptr;
  void* list = nullptr;
};

/// Calls `body`, waits for the device, and adds the seconds to `times[name]`.
template <typename BodyT>
void timed(std::map<std::string, double>& times, const char* name, const bench_device& on,
           const BodyT& body) {
  on.wait();
  const auto begin = clock::now();
  body();
  on.wait();
  times[name] += std::chrono::duration<double>(clock::now() - begin).count();
}

/// Puts the addresses of all chunks, shuffled, on the device.
std::size_t upload_chunks(const block_set& blocks, const bench_device& on) {
  std::vector<std::byte*> chunks;
  for (std::byte* block : blocks.blocks()) {
    for (std::size_t i = 0; i < block_bytes; i += chunk_bytes) chunks.push_back(block + i);
  }
  std::shuffle(chunks.begin(), chunks.end(), std::mt19937_64(chunks.size()));
  check(cudaMemcpy(on.list, chunks.data(), chunks.size() * sizeof(std::byte*), cudaMemcpyHostToDevice),
        "ratio: upload the list of chunks");
  return chunks.size();
}

template <typename LaunchT>
void run_sliced(const LaunchT& launch, std::size_t chunks, block_set& blocks, const bench_device& on) {
  const std::size_t part = chunks / slices;
  for (std::size_t i = 0; i < slices; ++i) {
    launch(chunk_list{static_cast<float* const*>(on.list) + i * part, part}, on.stream.get());
    blocks.all_came();
  }
}

std::map<std::string, double> run_once(const block_set::request& wanted, const bench_device& on) {
  std::map<std::string, double> times;
  std::optional<block_set> blocks;
  timed(times, "allocate", on, [&] { blocks.emplace(wanted, on.pool, on.stream.get()); });
  timed(times, "copy", on, [&] {
    for (std::size_t i = 0; i < blocks->blocks().size(); ++i) {
      check(cudaMemcpyAsync(blocks->blocks()[i], on.staging, block_bytes, cudaMemcpyHostToDevice,
                            on.stream.get()),
            "ratio: copy");
      blocks->came(i);
    }
  });
  const std::size_t chunks = upload_chunks(*blocks, on);
  timed(times, "addition", on, [&] { run_sliced(launch_addition, chunks, *blocks, on); });
  timed(times, "butterfly", on, [&] { run_sliced(launch_butterfly, chunks, *blocks, on); });
  times["pushed_bytes"] = static_cast<double>(blocks->pushed_bytes());
  timed(times, "free", on, [&] { blocks.reset(); });
  return times;
}

/// Takes all memory of the card but the budget, so that it is as small as that.
class ballast {
 public:
  explicit ballast(std::size_t left) {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "read how much device memory is free");
    if (free > left) check(cudaMalloc(&data_, free - left), "ratio: take memory away");
  }
  ~ballast() { cudaFree(data_); }
  ballast(const ballast&) = delete;
  ballast& operator=(const ballast&) = delete;

 private:
  void* data_ = nullptr;
};

json::value row_of(double oversubscription, double share, const block_set::request& wanted,
                   const std::map<std::string, double>& times) {
  json::object row{{"oversubscription", oversubscription},
                   {"async_share", share},
                   {"bytes", static_cast<std::uint64_t>(wanted.bytes)},
                   {"async_bytes", static_cast<std::uint64_t>(wanted.async_bytes)}};
  for (const auto& [name, value] : times) {
    row.emplace_back(name == "pushed_bytes" ? name : name + "_seconds", value);
  }
  return row;
}

}  // namespace

json::array run_sweep(const sweep_options& options) {
  const bench_device on(static_cast<std::size_t>(2.1 * static_cast<double>(options.budget)) + block_bytes);
  std::optional<ballast> taken;
  if (options.oversubscribe) taken.emplace(options.budget);
  json::array rows;
  for (const double oversubscription : oversubscriptions) {
    for (const double share : async_shares) {
      block_set::request wanted;
      wanted.budget = options.budget;
      wanted.bytes = static_cast<std::size_t>(oversubscription * static_cast<double>(options.budget));
      wanted.async_bytes =
          std::min(wanted.bytes, static_cast<std::size_t>(share * static_cast<double>(options.budget)));
      wanted.oversubscribe = options.oversubscribe;
      std::map<std::string, double> best;
      for (unsigned i = 0; i < std::max(1U, options.repetitions); ++i) {
        for (const auto& [name, value] : run_once(wanted, on)) {
          const auto [known, first] = best.emplace(name, value);
          if (!first) known->second = std::min(known->second, value);
        }
      }
      rows.push_back(row_of(oversubscription, share, wanted, best));
    }
  }
  return rows;
}

}  // namespace halocline::bench

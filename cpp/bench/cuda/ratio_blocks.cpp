// SPDX-License-Identifier: Apache-2.0
#include "cuda/ratio_blocks.hpp"

#include <algorithm>
#include <atomic>

#include "backend/cuda/device/cuda_api.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::bench {
namespace {

using backend::cuda::check;

std::atomic<std::size_t> managed_bytes{0};

std::size_t blocks_of(std::size_t bytes) { return (bytes + block_bytes - 1) / block_bytes; }

}  // namespace

void* allocate_managed(std::size_t bytes, bool oversubscribe) {
  const std::size_t held = managed_bytes;
  HALOCLINE_EXPECTS(bytes <= managed_limit && held <= managed_limit - bytes, out_of_memory,
                    "managed memory: ", bytes, " more bytes on top of ", held, " exceed the limit of ",
                    managed_limit, "; choose a smaller --budget");
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "read how much device memory is free");
  HALOCLINE_EXPECTS(oversubscribe || (bytes <= free && held <= free - bytes), out_of_memory,
                    "managed memory: ", held + bytes, " bytes, and the card has ", free,
                    " free; choose a smaller --budget");
  void* data = nullptr;
  check(cudaMallocManaged(&data, bytes, cudaMemAttachGlobal), "allocate managed memory");
  managed_bytes += bytes;
  return data;
}

void free_managed(void* data, std::size_t bytes) noexcept {
  cudaFree(data);
  managed_bytes -= bytes;
}

block_set::block_set(const request& wanted, cudaMemPool_t pool, cudaStream_t stream)
    : wanted_(wanted), stream_(stream) {
  const std::size_t all = blocks_of(wanted.bytes);
  async_blocks_ = std::min(all, wanted.async_bytes / block_bytes);
  blocks_.reserve(all);
  for (std::size_t i = 0; i < async_blocks_; ++i) {
    void* data = nullptr;
    check(cudaMallocFromPoolAsync(&data, block_bytes, pool, stream), "allocate from the pool");
    blocks_.push_back(static_cast<std::byte*>(data));
  }
  while (blocks_.size() < all) {
    blocks_.push_back(static_cast<std::byte*>(allocate_managed(block_bytes, wanted.oversubscribe)));
  }
  here_.assign(all, false);
}

block_set::~block_set() {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (i < async_blocks_) {
      cudaFreeAsync(blocks_[i], stream_);
    } else {
      free_managed(blocks_[i], block_bytes);
    }
  }
}

void block_set::came(std::size_t i) {
  if (i >= async_blocks_ && !here_[i]) {
    here_[i] = true;
    order_.push_back(i);
  }
  push_out();
}

void block_set::all_came() {
  for (std::size_t i = async_blocks_; i < blocks_.size(); ++i) {
    if (here_[i]) continue;
    here_[i] = true;
    order_.push_back(i);
  }
  push_out();
}

void block_set::push_out() {
  if (wanted_.oversubscribe) return;
  const std::size_t budget = wanted_.budget / block_bytes;
  const std::size_t room = budget > async_blocks_ ? budget - async_blocks_ : 0;
  while (order_.size() > room) {
    const std::size_t out = order_.front();
    order_.pop_front();
    here_[out] = false;
    const cudaMemLocation host{cudaMemLocationTypeHost, 0};
    check(cudaMemPrefetchAsync(blocks_[out], block_bytes, host, 0, stream_), "push managed pages out");
    pushed_ += block_bytes;
  }
}

}  // namespace halocline::bench

// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/memory/pinned_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include "backend/cuda/device/driver_calls.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr std::size_t small_page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t most_threads = 8;

/// Anonymous memory aligned to huge pages; nullptr: there is none.
std::byte* map(std::size_t bytes) {
  void* const found =
      mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(found);
  const std::size_t lead = (huge_page - reinterpret_cast<std::size_t>(begin) % huge_page) % huge_page;
  if (lead != 0) munmap(begin, lead);
  munmap(begin + lead + bytes, huge_page - lead);
  (void)madvise(begin + lead, bytes, MADV_HUGEPAGE);  // a system without huge pages has small ones
  return begin + lead;
}

/// Writes to every page, so that all exist.
void touch(std::byte* data, std::size_t bytes) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp<std::size_t>(bytes / huge_page, 1, std::min(cores, most_threads));
  const std::size_t part = (bytes / parts + huge_page - 1) / huge_page * huge_page;
  const auto work = [data, bytes](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < std::min(bytes, end); at += small_page) data[at] = std::byte{0};
  };
  std::vector<std::thread> helpers;
  std::size_t begin = part;
  try {
    for (; begin < bytes; begin += part) helpers.emplace_back(work, begin, begin + part);
  } catch (const std::system_error&) {  // no more threads: this one does the rest
    work(begin, bytes);
  }
  work(0, part);
  for (std::thread& each : helpers) each.join();
}

}  // namespace

std::byte* pinned_pages::allocate(std::size_t bytes) {
  bytes = (bytes + small_page - 1) / small_page * small_page;
  const std::lock_guard lock(mutex_);
  std::byte* const data = map(bytes);
  if (data == nullptr) return nullptr;
  try {
    touch(data, bytes);
    sizes_.emplace(data, bytes);
  } catch (...) {
    munmap(data, bytes);
    throw;
  }
  if (driver::host_register(data, bytes, cudaHostRegisterDefault) == cudaSuccess) return data;
  (void)cudaGetLastError();
  sizes_.erase(data);
  munmap(data, bytes);
  return nullptr;
}

void pinned_pages::free(std::byte* data) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(data);
  if (found == sizes_.end()) return;
  driver::host_unregister(data);
  munmap(data, found->second);
  sizes_.erase(found);
}

}  // namespace halocline::backend::cuda

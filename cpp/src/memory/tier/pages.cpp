// SPDX-License-Identifier: Apache-2.0
#include "memory/tier/pages.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

namespace halocline::memory {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::byte* map(std::size_t bytes) noexcept {
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

}  // namespace

std::byte* map_pages(std::size_t bytes) noexcept {
  if (bytes < huge_page) return map(bytes);
  // Take enough to find a huge page's boundary in it, and give back what lies around.
  const std::size_t slack = huge_page - page_bytes;
  if (bytes > SIZE_MAX - slack) return nullptr;
  std::byte* const whole = map(bytes + slack);
  if (whole == nullptr) return nullptr;
  const std::size_t head = (huge_page - reinterpret_cast<std::uintptr_t>(whole) % huge_page) % huge_page;
  if (head != 0) ::munmap(whole, head);
  if (head != slack) ::munmap(whole + head + bytes, slack - head);
  ::madvise(whole + head, bytes, MADV_HUGEPAGE);  // a hint: systems without huge pages refuse it
  return whole + head;
}

std::byte* reserve_pages(std::size_t bytes) noexcept { return map(bytes); }

void move_pages(std::byte* from, std::byte* to, std::size_t bytes) noexcept {
#ifdef MREMAP_FIXED
  if (::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED) return;
  // Refused, for example because the process has too many mappings. The addresses may be gone by now.
  ::mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#endif
  std::memcpy(to, from, bytes);
  unmap_pages(from, bytes);
}

std::byte* reserve_workspace(std::size_t bytes) noexcept {
  std::byte* const data = map(bytes);
  if (data != nullptr) ::madvise(data, bytes, MADV_NOHUGEPAGE);
  return data;
}

void lend_pages(std::byte* from, std::byte* to, std::size_t bytes) noexcept {
#ifdef MREMAP_DONTUNMAP
  constexpr int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  if (::mremap(from, bytes, bytes, flags, to) != MAP_FAILED) return;
  // Refused, for example by a system older than Linux 5.7. The addresses may be gone by now.
  ::mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#endif
  std::memcpy(to, from, bytes);
  ::madvise(from, bytes, MADV_DONTNEED);
}

void empty_workspace(void* data, std::size_t bytes) noexcept {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (::mmap(data, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) {
    ::madvise(data, bytes, MADV_DONTNEED);
  } else {
    ::madvise(data, bytes, MADV_NOHUGEPAGE);
  }
}

void unmap_pages(void* data, std::size_t bytes) noexcept {
  // Unmapping a part of a mapping needs one mapping more than before, and the system may refuse that.
  if (::munmap(data, bytes) != 0) ::madvise(data, bytes, MADV_DONTNEED);
}

}  // namespace halocline::memory

// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/runtime/kernel_images.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "backend/sycl/runtime/disk_cache.hpp"
#include "backend/sycl/runtime/embedded_texts.hpp"
#include "backend/sycl/runtime/sycl_runtime.hpp"

namespace halocline::backend::sycl {
namespace {

/// No contraction: doubles are equal on all devices. Headers are found by their whole names.
std::vector<std::string> options_of(unsigned word_bits, bool doubles) {
  std::vector<std::string> options{text("-DHALOCLINE_SYCL_WORD=std::uint", word_bits, "_t"), "-std=c++20",
                                   "-ffp-contract=off", "-I."};
  if (doubles) options.emplace_back("-DHALOCLINE_SYCL_DOUBLES");
  return options;
}

std::string key_of(const std::string& version, const std::vector<std::string>& options) {
  std::vector<std::string> parts{"kernels", version};
  parts.insert(parts.end(), options.begin(), options.end());
  for (const sycl_bridge::source_text& each : kernel_texts()) {
    parts.emplace_back(each.name);
    parts.emplace_back(each.contents);
  }
  return cache_key(parts);
}

}  // namespace

std::vector<std::byte> pack_images(const std::vector<std::vector<std::byte>>& images) {
  std::vector<std::byte> file;
  for (const std::vector<std::byte>& each : images) {
    for (unsigned i = 0; i < 8; ++i) file.push_back(static_cast<std::byte>(each.size() >> (8 * i) & 0xff));
    file.insert(file.end(), each.begin(), each.end());
  }
  return file;
}

std::vector<std::vector<std::byte>> unpack_images(const std::vector<std::byte>& file) {
  constexpr std::size_t head = 8;
  std::vector<std::vector<std::byte>> images;
  for (std::size_t at = 0; at < file.size();) {
    if (file.size() - at < head) return {};
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i < head; ++i) bytes |= std::to_integer<std::uint64_t>(file[at + i]) << (8 * i);
    at += head;
    if (bytes > file.size() - at) return {};
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at);
    images.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(bytes));
    at += bytes;
  }
  return images;
}

kernel_images& kernel_images::of(unsigned ordinal) {
  static std::mutex mutex;
  // Never destroyed: at the end of a process the runtime may be gone before static objects.
  static auto* const known = new std::map<unsigned, std::unique_ptr<kernel_images>>();
  const std::lock_guard lock(mutex);
  std::unique_ptr<kernel_images>& found = (*known)[ordinal];
  if (found == nullptr) {
    sycl_bridge::device* opened = nullptr;
    check(bridge().open(ordinal, opened), "open the device");
    std::unique_ptr<sycl_bridge::device> device(opened);
    sycl_bridge::device_facts facts{};
    check(device->describe(facts), "describe the device");
    found = std::make_unique<kernel_images>(std::move(device), runtime_version(runtime_root().value()),
                                            facts.doubles);
  }
  return *found;
}

kernel_images::kernel_images(std::unique_ptr<sycl_bridge::device> device, std::string version, bool doubles)
    : device_(std::move(device)), version_(std::move(version)), doubles_(doubles) {}

kernel_images::images kernel_images::compile(const std::vector<std::string>& options) const {
  std::vector<const char*> words;
  for (const std::string& each : options) words.push_back(each.c_str());
  images made;
  const auto take = [](void* to, const void* bytes, std::size_t count) {
    const auto* const first = static_cast<const std::byte*>(bytes);
    static_cast<images*>(to)->emplace_back(first, first + count);
  };
  check(
      device_->compile(kernel_texts().data(), kernel_texts().size(), words.data(), words.size(), take, &made),
      "compile kernels");
  return made;
}

void kernel_images::load(side& into, unsigned word_bits) {
  const disk_cache cache;
  const std::vector<std::string> options = options_of(word_bits, doubles_);
  const std::string key = key_of(version_, options);
  images found;
  if (const std::optional<std::vector<std::byte>> file = cache.load(key, ".spv"))
    found = unpack_images(*file);
  if (found.empty()) {
    found = compile(options);
    cache.store(key, ".spv", pack_images(found));
  }
  std::vector<std::unique_ptr<sycl_bridge::program>> programs;
  for (const std::vector<std::byte>& each : found) {
    sycl_bridge::program* made = nullptr;
    check(device_->load(each.data(), each.size(), made), "load kernels");
    programs.emplace_back(made);
  }
  into.programs = std::move(programs);
}

void* kernel_images::find(std::string_view name, unsigned word_bits) {
  const std::lock_guard lock(mutex_);
  side& of = sides_[word_bits == 32 ? 0 : 1];
  if (const auto known = of.kernels.find(name); known != of.kernels.end()) return known->second;
  if (of.programs.empty()) load(of, word_bits);
  // The compiler's name of a free function with C linkage.
  const std::string entry = text("__sycl_kernel_halocline_", name);
  void* kernel = nullptr;
  sycl_bridge::outcome state = "no image";
  for (const std::unique_ptr<sycl_bridge::program>& each : of.programs) {
    state = each->find(entry.c_str(), kernel);
    if (state == nullptr) break;
  }
  check(state, entry.c_str());
  of.kernels.emplace(name, kernel);
  return kernel;
}

}  // namespace halocline::backend::sycl

// SPDX-License-Identifier: Apache-2.0
// What the kernels ask of a device: nothing that only CPUs have.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/sycl/runtime/kernel_images.hpp"
#include "backend/sycl/runtime/sycl_runtime.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

/// Widths of the integer types that SPIR-V files in a folder declare.
std::set<std::uint32_t> integer_widths(const std::filesystem::path& folder) {
  constexpr std::uint32_t op_type_int = 4U << 16 | 21U;  // four words: operation, result, width, signedness
  std::set<std::uint32_t> widths;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    if (each.path().extension() != ".spv") continue;
    std::ifstream file(each.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<std::uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), 4 * words.size());
    for (std::size_t i = 0; i + 3 < words.size(); ++i) {
      if (words[i] == op_type_int && words[i + 3] <= 1) widths.insert(words[i + 2]);
    }
  }
  return widths;
}

TEST(SyclImages, KernelsUseNoIntegersOf128Bits) {
  if (std::getenv("HALOCLINE_SYCL_ROOT") == nullptr) GTEST_SKIP() << "HALOCLINE_SYCL_ROOT is not set";
  const char* const usual = std::getenv("HALOCLINE_SYCL_CACHE");
  const std::string cache = usual != nullptr ? usual : "";
  const temporary_folder folder;
  sycl_bridge::device* device = nullptr;
  ASSERT_EQ(backend::sycl::bridge().open(0, device), nullptr);
  std::unique_ptr<sycl_bridge::device> opened(device);
  const std::string version =
      backend::sycl::runtime_version(backend::sycl::runtime_root().value_or(std::filesystem::path()));
  backend::sycl::kernel_images images(std::move(opened), version, true);
  setenv("HALOCLINE_SYCL_CACHE", (folder / "cache").c_str(), 1);
  void* const kernel = images.find("tensor_matrix", 64);
  usual != nullptr ? setenv("HALOCLINE_SYCL_CACHE", cache.c_str(), 1) : unsetenv("HALOCLINE_SYCL_CACHE");
  EXPECT_NE(kernel, nullptr);
  const std::set<std::uint32_t> widths = integer_widths(folder / "cache");
  EXPECT_TRUE(widths.contains(64));
  EXPECT_FALSE(widths.contains(128));
}

}  // namespace
}  // namespace halocline::test

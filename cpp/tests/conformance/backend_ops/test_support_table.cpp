// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "halocline/backend/registry.hpp"

namespace {

using namespace halocline;

/// Markdown table: which operation every backend of this build has, per word size.
std::string support_table() {
  std::ostringstream out;
  out << "| operation |";
  std::vector<std::shared_ptr<backend::backend>> devices;
  for (const std::string& name : backend::available_devices()) {
    devices.push_back(backend::make_backend(name));
    out << " " << name << " 32 | " << name << " 64 |";
  }
  out << "\n|---|";
  for (std::size_t i = 0; i < 2 * devices.size(); ++i) out << "---|";
  for (std::size_t op = 0; op < backend::op_kind_count; ++op) {
    const auto kind = static_cast<backend::op_kind>(op);
    out << "\n| `" << to_string(kind) << "` |";
    for (const auto& device : devices) {
      for (const unsigned bits : {32U, 64U}) out << (device->supports(kind, bits) ? " yes |" : " no |");
    }
  }
  out << "\n";
  return out.str();
}

/// HALOCLINE_SUPPORT_TABLE=FILE writes the table for the documentation.
/// Private retrieval has 32-bit words only, except on ghosts.
TEST(SupportTable, CpuAndGhostHaveEveryOperation) {
  const std::string table = support_table();
  for (const char* const name : {"cpu", "ghost"}) {
    const auto device = backend::make_backend(name);
    for (std::size_t op = 0; op < backend::op_kind_count; ++op) {
      const auto kind = static_cast<backend::op_kind>(op);
      const bool narrow = kind >= backend::op_kind::array_ntt && kind <= backend::op_kind::unpack_plain;
      EXPECT_TRUE(device->supports(kind, 32)) << name << ": " << to_string(kind);
      EXPECT_EQ(device->supports(kind, 64), !narrow || name == std::string("ghost"))
          << name << ": " << to_string(kind);
    }
  }
  for (std::size_t op = 0; op < backend::op_kind_count; ++op) {
    EXPECT_NE(table.find("`" + std::string(to_string(static_cast<backend::op_kind>(op))) + "`"),
              std::string::npos);
  }
  if (const char* const path = std::getenv("HALOCLINE_SUPPORT_TABLE")) {
    std::ofstream file(path);
    file << table;
    ASSERT_TRUE(file.good()) << path;
  }
}

TEST(CpuBackend, DescribesItself) {
  backend::backend_options options;
  options.threads = 2;
  const auto simd = backend::make_backend("cpu", options)->describe();
  EXPECT_EQ(simd.threads, 2U);
  EXPECT_FALSE(simd.simd.empty());
  EXPECT_GT(simd.memory_bytes, 0U);
  options.scalar = true;
  EXPECT_EQ(backend::make_backend("cpu", options)->describe().simd, "scalar");
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Every loader on arbitrary bytes, as they are and as an attacker would forge them: with checksums and
// fingerprint made right. What a loader accepts must be stable: saved, loaded and saved again it gives the
// same bytes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "halocline/io/key_file.hpp"
#include "halocline/io/secret_key_file.hpp"
#include "halocline/io/serialize.hpp"
#include "support/container_samples.hpp"
#include "support/object_samples.hpp"

namespace {

using halocline::test::byte_vector;
namespace ckks = halocline::ckks;
namespace io = halocline::io;

/// Bytes as a file that exists in memory only: secret keys have no other form.
class memory_file {
 public:
  explicit memory_file(const byte_vector& bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || ::write(descriptor_, bytes.data(), bytes.size()) < 0) std::abort();
  }
  ~memory_file() { ::close(descriptor_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  [[nodiscard]] std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

template <typename LoadT>
void expect_stable(ckks::context& ctx, const byte_vector& bytes, LoadT load) {
  const byte_vector first = io::to_bytes(ctx, load(bytes));
  if (io::to_bytes(ctx, load(first)) != first) std::abort();
}

void load_any(ckks::context& ctx, const byte_vector& bytes) {
  switch (io::inspect(bytes).kind) {
    case io::object_kind::parameters:
      if (!(io::load_parameters(io::to_bytes(io::load_parameters(bytes))) == io::load_parameters(bytes)))
        std::abort();
      break;
    case io::object_kind::plaintext:
      try {
        expect_stable(ctx, bytes, [&](const auto& from) { return io::load_plaintext(from, ctx); });
      } catch (const halocline::invalid_argument&) {
        expect_stable(ctx, bytes, [&](const auto& from) { return io::load_compact_plaintext(from, ctx); });
      }
      break;
    case io::object_kind::ciphertext:
      expect_stable(ctx, bytes, [&](const auto& from) { return io::load_ciphertext(from, ctx); });
      break;
    case io::object_kind::public_key:
      expect_stable(ctx, bytes, [&](const auto& from) { return io::load_public_key(from, ctx); });
      break;
    case io::object_kind::secret_key:
      static_cast<void>(io::load_secret_key(memory_file(bytes).path(), ctx));
      break;
    case io::object_kind::evaluation_keys:
      expect_stable(ctx, bytes, [&](const auto& from) { return io::load_evaluation_keys(from, ctx); });
      break;
  }
}

void expect_refused_or_stable(ckks::context& ctx, const byte_vector& bytes) {
  try {
    load_any(ctx, bytes);
  } catch (const halocline::corrupt_data&) {
    return;
  } catch (const halocline::invalid_argument&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto ctx = halocline::test::tiny_context();
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  byte_vector bytes(first, first + size);
  expect_refused_or_stable(*ctx, bytes);
  halocline::test::forge_parameters(bytes, ctx->parameters().fingerprint());
  halocline::test::reseal(bytes);
  expect_refused_or_stable(*ctx, bytes);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/serialize.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "halocline/io/key_file.hpp"
#include "support/container_samples.hpp"
#include "support/object_samples.hpp"

namespace halocline::io {
namespace {

using test::byte_vector;

/// Loads whatever the bytes hold and saves it again.
[[nodiscard]] byte_vector reload(ckks::context& ctx, const byte_vector& bytes) {
  switch (inspect(bytes).kind) {
    case object_kind::plaintext:
      return to_bytes(ctx, load_plaintext(bytes, ctx));
    case object_kind::ciphertext:
      return to_bytes(ctx, load_ciphertext(bytes, ctx));
    case object_kind::public_key:
      return to_bytes(ctx, load_public_key(bytes, ctx));
    case object_kind::evaluation_keys:
      return to_bytes(ctx, load_evaluation_keys(bytes, ctx));
    default:
      return to_bytes(load_parameters(bytes));
  }
}

[[nodiscard]] std::vector<byte_vector> one_of_each(ckks::context& ctx) {
  return {to_bytes(ctx.parameters()),
          to_bytes(ctx, test::sample_plaintext(ctx, 1)),
          to_bytes(ctx, test::sample_ciphertext(ctx, 2, 2, true)),
          to_bytes(ctx, test::sample_ciphertext(ctx, 1, 3, false)),
          to_bytes(ctx, test::sample_public_key(ctx)),
          to_bytes(ctx, test::sample_keys(ctx))};
}

class SerializeVersions : public ::testing::TestWithParam<unsigned> {};

// The versions differ in the header alone where no key is named and no seed is stored.
TEST_P(SerializeVersions, BothGiveTheSameObject) {
  const auto ctx = test::tiny_context(GetParam());
  ckks::ciphertext nobodys = test::sample_ciphertext(*ctx, 1, 3, false);
  nobodys.key = {};
  for (const byte_vector& each : {to_bytes(ctx->parameters()),
                                  to_bytes(*ctx, test::sample_plaintext(*ctx, 1)), to_bytes(*ctx, nobodys)}) {
    byte_vector old = each;
    test::forge_version(old, 1);
    EXPECT_EQ(inspect(old).version, 1U);
    EXPECT_TRUE(reload(*ctx, old) == each);
    test::forge_version(old, container_version + 1);
    EXPECT_THROW((void)reload(*ctx, old), corrupt_data);
  }
}

INSTANTIATE_TEST_SUITE_P(WordBits, SerializeVersions, ::testing::Values(32U, 64U),
                         ::testing::PrintToStringParamName());

class SerializeCorruption : public ::testing::TestWithParam<unsigned> {};

// An accident that happens to a saved object is noticed, or the object is the one that was saved.
TEST_P(SerializeCorruption, IsNoticedOrHarmless) {
  const auto ctx = test::tiny_context(GetParam());
  const auto samples = one_of_each(*ctx);
  std::mt19937 random(1);
  const auto below = [&random](std::size_t bound) { return random() % bound; };
  for (std::uint32_t trial = 0; trial < 2000; ++trial) {
    const byte_vector& valid = samples[below(samples.size())];
    byte_vector bytes = valid;
    switch (below(4)) {
      case 0:
        bytes.resize(below(bytes.size()));
        break;
      case 1:
        bytes.resize(bytes.size() + 1 + below(5000));
        break;
      case 2:
        bytes[below(bytes.size())] ^= std::byte{1} << below(8);
        break;
      default: {
        const byte_vector& other = samples[below(samples.size())];
        const std::size_t count = 1 + below(std::min(bytes.size(), other.size()));
        std::copy_n(other.begin(), count, bytes.begin());
      }
    }
    SCOPED_TRACE("trial " + std::to_string(trial));
    try {
      const byte_vector again = reload(*ctx, bytes);
      EXPECT_TRUE(again == valid || std::find(samples.begin(), samples.end(), again) != samples.end());
    } catch (const corrupt_data&) {
      continue;
    } catch (const invalid_argument&) {
      ADD_FAILURE() << "an accident must not look like the caller's mistake";
    }
  }
}

// Bytes with forged checksums give either an error or an object that is valid for the parameters.
TEST_P(SerializeCorruption, ForgedObjectsAreRefusedOrValid) {
  const auto ctx = test::tiny_context(GetParam());
  const auto samples = one_of_each(*ctx);
  std::mt19937 random(2);
  const auto below = [&random](std::size_t bound) { return random() % bound; };
  for (std::uint32_t trial = 0; trial < 2000; ++trial) {
    byte_vector bytes = samples[below(samples.size())];
    for (std::size_t flips = 1 + below(3); flips > 0; --flips) {
      // Metadata lie near the start of most samples and at the end of key bundles.
      const std::size_t reach = std::min<std::size_t>(bytes.size(), 16'384);
      const std::size_t at = below(2) == 0 ? below(reach) : bytes.size() - 1 - below(reach);
      bytes[at] = static_cast<std::byte>(below(256));
    }
    test::reseal(bytes);
    SCOPED_TRACE("trial " + std::to_string(trial));
    try {
      const byte_vector first = reload(*ctx, bytes);
      EXPECT_TRUE(reload(*ctx, first) == first);
    } catch (const corrupt_data&) {
      continue;
    } catch (const invalid_argument&) {
      continue;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(WordBits, SerializeCorruption, ::testing::Values(32U, 64U),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace halocline::io

// SPDX-License-Identifier: Apache-2.0
// The encapsulation key: what it encrypts, and its way through files, key sets and engines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ckks/small_poly.hpp"
#include "halocline/ckks/client.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/io/key_file.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "halocline/params/footprint.hpp"
#include "halocline/rns/raise.hpp"
#include "support/container_samples.hpp"
#include "support/object_samples.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using arith::window;
using backend::limb_view;
using test::contents;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class EncapsulationKey : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<context> ctx = test::make_test_context(params::preset(GetParam()));
  const params::parameters& parameters = ctx->parameters();
  ring::random_source random{backend::seed_bytes{5}};
  key_generator generator{*ctx, random};
  secret_key secret = generator.make_secret_key();
  unsigned top = parameters.top_level();

  [[nodiscard]] evaluation_key make(unsigned level, bool seeded = false) {
    return generator.make_evaluation_key(secret, {encapsulation_element, level}, seeded);
  }

  /// Chain limbs of b + a s: the gadget of a digit and its error, in integers.
  [[nodiscard]] ring::poly opened(const evaluation_key_digit& digit, const key_digit_layout& layout,
                                  const limb_view& target) const {
    ring::poly sum(ctx->ring(), {}, layout.chain, memory::object_class::scratch, "test");
    const limb_view b = layout.views(digit.b).back();
    const limb_view a = layout.views(digit.a).back();
    const backend::unary_job copy{sum.chain(), b.slice(layout.chain)};
    ctx->device().copy(ctx->tables(), {&copy, 1});
    const backend::binary_job product{sum.chain(), a.slice(layout.chain), target.slice(layout.chain)};
    ctx->device().multiply_add(ctx->tables(), {&product, 1});
    return sum;
  }

  [[nodiscard]] double product_of_special(window special) const {
    double product = 1;
    for (std::uint32_t i = special.first; i < special.end(); ++i) {
      product *= static_cast<double>(parameters.primes()[i]);
    }
    return product;
  }

  /// The sparse secret, which the key for the way back encrypts under the main one, times P.
  [[nodiscard]] std::vector<std::int64_t> ephemeral_of(const evaluation_key& key) const {
    const key_digit_layout layout = key_layout(parameters, {encapsulation_element, key.level}).back();
    const limb_view s = secret_limbs(secret, parameters.all_window());
    const ring::poly sum = opened(key.digits.back(), layout, s);
    std::vector<std::int64_t> result;
    for (const double each : test::integer_coefficients(*ctx, sum.chain())) {
      const double scaled = each / product_of_special(layout.special);
      EXPECT_NEAR(scaled, std::round(scaled), 1e-6);
      result.push_back(static_cast<std::int64_t>(std::round(scaled)));
    }
    return result;
  }
};

TEST_P(EncapsulationKey, EncryptsASparseSecretAndTheMainOneUnderIt) {
  const evaluation_key key = make(top);
  const std::vector<key_digit_layout> layouts = key_layout(parameters, {encapsulation_element, top});
  ASSERT_EQ(key.digits.size(), layouts.size());
  ASSERT_EQ(layouts.size(), parameters.level(0).q.count + 1);
  std::vector<std::int64_t> sparse = ephemeral_of(key);
  int weight = 0;
  for (const std::int64_t each : sparse) {
    EXPECT_LE(std::abs(each), 1);
    weight += each != 0 ? 1 : 0;
  }
  EXPECT_EQ(weight, 32);
  small_coefficients host(parameters.n());
  std::copy(sparse.begin(), sparse.end(), host.values().begin());
  const window base = parameters.level(0).q;
  const ring::poly value(ctx->ring(), {}, base, memory::object_class::scratch, "test");
  const limb_view limbs = value.chain();
  expand_small(*ctx, upload_small(*ctx, host, "test"), {&limbs, 1});
  for (std::size_t j = 0; j + 1 < layouts.size(); ++j) {
    const ring::poly sum = opened(key.digits[j], layouts[j], limbs);
    const limb_view own = sum.chain().slice(layouts[j].gadget);
    backend::linear_job minus_gadget{own, own, secret_limbs(secret, own.primes), {1}, {}};
    const std::uint64_t q = parameters.primes()[own.primes.first];
    minus_gadget.factor_b = {q - rns::product_of(ctx->ring(), layouts[j].special, own.primes).front()};
    ctx->device().linear_combine(ctx->tables(), {&minus_gadget, 1});
    const std::vector<double> error = test::integer_coefficients(*ctx, sum.chain());
    EXPECT_NEAR(test::root_mean_square(error), parameters.error_stddev(), 0.5) << j;
    EXPECT_LT(test::largest_of(error), 30) << j;
  }
}

// Raised rotation keys that are made later must switch from the same s'.
TEST_P(EncapsulationKey, AllKeysOfAClientHaveTheSameSecret) {
  const std::vector<std::int64_t> first = ephemeral_of(make(top));
  EXPECT_EQ(first, ephemeral_of(make(top)));
  secret = generator.make_secret_key();
  EXPECT_NE(first, ephemeral_of(make(top)));
}

TEST_P(EncapsulationKey, FilesKeepItAndReadPrefixes) {
  for (const bool seeded : {false, true}) {
    memory_key_set keys(parameters);
    keys.add(make(top, seeded));
    keys.add(generator.make_evaluation_key(secret, {relinearization_element, 1}, seeded));
    const test::byte_vector bytes = io::to_bytes(*ctx, keys);
    const memory_key_set copy = io::load_evaluation_keys(bytes, *ctx);
    EXPECT_EQ(copy.list(), keys.list());
    EXPECT_EQ(io::to_bytes(*ctx, copy), bytes);
    const io::key_bundle_reader reader(bytes, *ctx);
    const unsigned low = parameters.max_level() + 1;
    evaluation_key prefix = reader.load(encapsulation_element, low);
    EXPECT_EQ(reader.bytes(encapsulation_element, low),
              params::footprint(parameters).encapsulation_key(low) / (seeded ? 2 : 1));
    expand(*ctx, prefix);
    EXPECT_EQ(ephemeral_of(prefix), [&] {
      evaluation_key whole = reader.load(encapsulation_element, top);
      expand(*ctx, whole);
      return ephemeral_of(whole);
    }());
    EXPECT_THAT([&] { (void)reader.load(encapsulation_element, top + 1); },
                ThrowsMessage<missing_key>(HasSubstr("encapsulation key for levels up to")));
  }
}

TEST_P(EncapsulationKey, ForgedShapesAreRefused) {
  memory_key_set keys(parameters);
  keys.add(make(top, true));
  const test::byte_vector bytes = io::to_bytes(*ctx, keys);
  const auto with_list = [&](std::size_t at, std::uint32_t value) {
    const auto reader = io::container_reader::over(bytes);
    test::byte_vector out;
    io::container_writer writer(out, reader.kind(), reader.parameters());
    for (const io::section& each : reader.sections()) {
      test::byte_vector content = reader.read_all(each, bytes.size());
      if (each.id == io::section_id{io::section_tag("META"), 0, 0}) {
        std::memcpy(content.data() + at, &value, sizeof value);
      }
      writer.add_section(each.id, content);
    }
    writer.finish();
    return out;
  };
  const auto refused = [&](std::size_t at, std::uint32_t value, const char* fragment) {
    const test::byte_vector forged = with_list(at, value);
    EXPECT_THAT([&] { (void)io::load_evaluation_keys(forged, *ctx); },
                ThrowsMessage<corrupt_data>(HasSubstr(fragment)));
  };
  refused(8, 4, "Galois element 4");
  refused(16, top + 1, "has level");
  refused(16, 0, "expected");  // another size of the last digit
  refused(20, 1, "has 1 digits");
  const auto other = test::make_test_context(params::preset("test-n11-d8"));
  EXPECT_THROW((void)io::load_evaluation_keys(bytes, *other), error);
}

TEST_P(EncapsulationKey, KeySetsCheckItsShape) {
  memory_key_set keys(parameters);
  evaluation_key key = make(top);
  key.digits.pop_back();
  EXPECT_THROW(keys.add(std::move(key)), invalid_argument);
  key = make(top);
  std::swap(key.digits.front(), key.digits.back());
  EXPECT_THROW(keys.add(std::move(key)), invalid_argument);
  keys.add(make(top - 1));
  EXPECT_TRUE(keys.contains(encapsulation_element, top - 1));
  EXPECT_FALSE(keys.contains(encapsulation_element, top));
  EXPECT_EQ(describe_key(parameters, encapsulation_element), "encapsulation key");
  EXPECT_THROW((void)make(top + 1), invalid_argument);
  const std::vector<key_request> expected{{relinearization_element, parameters.max_level()},
                                          {encapsulation_element, top}};
  key_selection selection;
  selection.encapsulation = true;
  EXPECT_EQ(make_requests(parameters, selection), expected);
  EXPECT_THROW((void)make_requests(params::preset("test-n11-d8"), selection), invalid_argument);
}

TEST_P(EncapsulationKey, PagingEnginesGiveTheSameIntegers) {
  memory_key_set keys(parameters);
  keys.add(make(top, true));
  const auto raised = [&](const engine_options& options) {
    engine server(parameters, options);
    server.add_keys(keys);
    ciphertext low = test::sample_ciphertext(server.context(), 0, 2, false);
    low.key = server.id();
    const ciphertext result = server.evaluator().mod_raise(low, top);
    return std::make_pair(test::words_of(server.context(), result.parts[0].chain()),
                          test::words_of(server.context(), result.parts[1].chain()));
  };
  engine_options resident;
  resident.threads = 1;
  engine_options seeded = resident;
  seeded.keep_seeds = true;
  engine_options paged = resident;
  paged.memory.policy = "lru";
  paged.memory.budget_bytes = std::size_t{7} << 19;
  paged.memory.slow = memory::make_memory_store();
  const auto expected = raised(resident);
  EXPECT_EQ(raised(seeded), expected);
  EXPECT_EQ(raised(paged), expected);
}

INSTANTIATE_TEST_SUITE_P(WordBits, EncapsulationKey, ::testing::Values("test-n11-boot", "test-n11-boot64"),
                         [](const auto& each) {
                           return std::string(each.param).find("64") == std::string::npos ? "w32" : "w64";
                         });

}  // namespace
}  // namespace halocline::ckks

// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/ckks/precision.hpp"
#include "halocline/core/error.hpp"
#include "halocline/io/key_file.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::ckks {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using complex_vector = std::vector<std::complex<double>>;

constexpr const char* preset = "test-n10-d3";
constexpr double worst_bits = 20.0;  // N = 2^10 and a 40-bit scale: a fresh encryption is good for about 30

[[nodiscard]] client_options reproducible(std::uint8_t seed = 1) {
  client_options options;
  options.threads = 1;
  options.seed = backend::seed_bytes{seed};
  return options;
}

[[nodiscard]] complex_vector ramp(std::size_t count) {
  complex_vector values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = {static_cast<double>(i) / static_cast<double>(count), -0.25};
  return values;
}

TEST(Client, DecryptsWhatItEncrypts) {
  client owner(params::preset(preset), reproducible());
  const complex_vector values = ramp(owner.parameters().slots());
  for (const bool use_public_key : {false, true}) {
    encrypt_options options;
    options.use_public_key = use_public_key;
    const ciphertext ct = owner.encrypt(values, options);
    EXPECT_EQ(ct.level, owner.parameters().max_level());
    EXPECT_EQ(ct.seed.has_value(), !use_public_key);
    EXPECT_GE(measure_precision(owner.decrypt(ct), values).worst_bits, worst_bits);
  }
}

TEST(Client, WorksInSingleSteps) {
  client owner(params::preset(preset), reproducible());
  const params::parameters& p = owner.parameters();
  const complex_vector values = ramp(p.slots());
  const plaintext message = owner.encoder().encode(values, 2, p.level(2).scale);
  for (const bool use_public_key : {false, true}) {
    const ciphertext ct = owner.encrypt_plain(message, use_public_key);
    EXPECT_EQ(ct.level, 2U);
    EXPECT_EQ(ct.seed.has_value(), !use_public_key);
    const plaintext back = owner.decrypt_plain(ct);
    EXPECT_EQ(back.level, 2U);
    EXPECT_EQ(back.scale, message.scale);
    EXPECT_GE(measure_precision(owner.encoder().decode(back), values).worst_bits, worst_bits);
  }
  client other(p, reproducible(2));
  EXPECT_THAT([&] { (void)other.encrypt_plain(message); },
              ThrowsMessage<invalid_argument>(HasSubstr("belongs to another engine or client")));
}

TEST(Client, HonoursLevelScaleAndSlots) {
  client owner(params::preset(preset), reproducible());
  encrypt_options options;
  options.level = 1;
  options.scale = 0x1p35;
  const ciphertext ct = owner.encrypt(ramp(5), options);
  EXPECT_EQ(ct.level, 1U);
  EXPECT_EQ(ct.scale, 0x1p35);
  EXPECT_EQ(ct.slots, 8U) << "the next power of two";
  options.level = owner.parameters().max_level() + 1;
  EXPECT_THAT([&] { (void)owner.encrypt(ramp(5), options); },
              ThrowsMessage<invalid_argument>(HasSubstr("the highest level of these parameters is")));
}

TEST(Client, IsReproducibleOnlyWithSeed) {
  const params::parameters p = params::preset(preset);
  client first(p, reproducible()), same(p, reproducible()), other(p, reproducible(2));
  const complex_vector values = ramp(p.slots());
  const ciphertext ct = transfer(first.encrypt(values), same.context());
  EXPECT_GE(measure_precision(same.decrypt(ct), values).worst_bits, worst_bits);
  ciphertext foreign = transfer(ct, other.context());
  EXPECT_THROW((void)other.decrypt(foreign), key_mismatch);
  foreign.key = {};  // as from a file of version 1
  EXPECT_LT(measure_precision(other.decrypt(foreign), values).mean_bits, 0.0);
}

TEST(Client, MakesExactlyTheKeysOfASelection) {
  client owner(params::preset(preset), reproducible());
  const params::parameters& p = owner.parameters();
  key_selection selection;
  selection.rotations = {1, -2, 0, 1};
  selection.conjugation = true;
  selection.level = 2;
  const memory_key_set keys = owner.make_keys(selection);
  const std::vector<key_request> requests = keys.list();
  ASSERT_EQ(requests.size(), 4U);
  for (const key_request& each : requests) EXPECT_EQ(each.level, 2U);
  EXPECT_TRUE(keys.contains(relinearization_element, 2));
  EXPECT_TRUE(keys.contains(p.galois_element(-2), 2));
  EXPECT_FALSE(keys.contains(p.galois_element(2), 0));
  EXPECT_FALSE(keys.contains(p.galois_element(1), 3)) << "limited to level 2";
  selection.rotations = {static_cast<std::int64_t>(p.slots())};
  EXPECT_THAT([&] { (void)make_requests(p, selection); },
              ThrowsMessage<invalid_argument>(HasSubstr("is out of range")));
}

TEST(Client, NamesRotationsOfGaloisElements) {
  const params::parameters p = params::preset(preset);
  for (const std::int64_t step : {1, -1, 7, -200, 255}) {
    EXPECT_EQ(rotation_of(p, p.galois_element(step)), step);
  }
  EXPECT_EQ(rotation_of(p, p.conjugation_element()), std::nullopt);
}

TEST(Client, RefusesForeignObjects) {
  client owner(params::preset(preset), reproducible());
  client stranger(params::preset(preset), reproducible(3));
  const ciphertext ct = stranger.encrypt(ramp(4));
  EXPECT_THROW((void)owner.decrypt(ct), invalid_argument);
  secret_key secret =
      key_generator(stranger.context(), *std::make_unique<ring::random_source>()).make_secret_key();
  EXPECT_THAT([&] { client(owner.context_handle(), std::move(secret)); },
              ThrowsMessage<invalid_argument>(HasSubstr("another context")));
}

/// Rotation keys and the relinearization key.
[[nodiscard]] std::vector<key_request> many_requests(const params::parameters& p) {
  key_selection selection;
  for (std::int64_t step = 1; step <= 11; ++step) selection.rotations.push_back(step);
  return make_requests(p, selection);
}

[[nodiscard]] std::vector<std::byte> bytes_of(context& ctx, const memory::buffer& data) {
  std::vector<std::byte> bytes(data.size());
  ctx.device().download(bytes, data, 0);
  return bytes;
}

TEST(Client, MakesAnyNumberOfKeysInTheRoomOfOne) {
  const params::parameters p = params::preset(preset);
  const auto home = make_client_context(p);
  const std::vector<key_request> requests = many_requests(p);
  client unlimited(p, reproducible());
  const std::size_t before = unlimited.context().runtime().statistics().live_bytes;
  const memory_key_set all = unlimited.make_keys(requests, *home);
  const std::size_t peak = unlimited.context().runtime().statistics().peak_bytes;
  // The secret's other form, an error and a uniform half; coefficients; the permutation; seed and error
  // table.
  const std::size_t key = all.keys().begin()->second.bytes();
  const std::size_t limbs = evaluation_key::limb_count(p, p.max_level()) * p.limb_bytes();
  EXPECT_LE(peak, before + key + 3 * limbs + 8 * p.n() + 4 * p.n() + 1024);
  EXPECT_LT(peak, before + all.bytes());

  client_options options = reproducible();
  options.memory.budget_bytes = peak;
  client limited(p, options);
  const memory_key_set same = limited.make_keys(requests, *home);
  EXPECT_LE(limited.context().runtime().statistics().peak_bytes, peak);
  ASSERT_EQ(same.list(), all.list());
  for (const auto& [element, expected] : all.keys()) {
    const evaluation_key& got = same.keys().at(element);
    for (std::size_t j = 0; j < expected.digits.size(); ++j) {
      EXPECT_EQ(bytes_of(*home, got.digits[j].b), bytes_of(*home, expected.digits[j].b));
      EXPECT_EQ(got.digits[j].source.seed, expected.digits[j].source.seed);
    }
  }
}

TEST(Client, SaysWhichBudgetWouldDo) {
  const params::parameters p = params::preset(preset);
  client_options options = reproducible();
  const auto home = make_client_context(p);
  client unlimited(p, options);
  const std::size_t secret = unlimited.context().runtime().statistics().live_bytes;
  const std::vector<key_request> one{{relinearization_element, p.max_level()}};
  const std::size_t key = unlimited.make_keys(one, *home).bytes();
  options.memory.budget_bytes = secret + key / 2;
  client limited(p, options);
  EXPECT_THAT([&] { (void)limited.make_keys(one, *home); },
              ThrowsMessage<out_of_memory>(HasSubstr("budget")));
  // Nothing was lost: what fits still works.
  EXPECT_EQ(limited.context().runtime().statistics().live_bytes, secret);
  options.memory.budget_bytes = secret / 2;
  EXPECT_THAT([&] { client refused(p, options); }, ThrowsMessage<out_of_memory>(HasSubstr("budget")));
}

TEST(Client, GivesKeysAwayOneByOne) {
  const params::parameters p = params::preset(preset);
  client owner(p, reproducible());
  std::vector<key_request> seen;
  owner.make_keys(many_requests(p), true, [&](const evaluation_key& key) {
    seen.push_back({key.galois_element, key.level});
    EXPECT_FALSE(key.digits.front().a);
  });
  EXPECT_EQ(seen, many_requests(p));
}

TEST(Client, WritesKeysToAFileOneByOne) {
  const params::parameters p = params::preset(preset);
  client owner(p, reproducible());
  std::vector<std::byte> written;
  io::key_bundle_writer writer(written, owner.context());
  owner.make_keys(many_requests(p), true, [&](const evaluation_key& key) { writer.add(key); });
  writer.finish();
  const auto home = make_client_context(p);
  client same(p, reproducible());
  EXPECT_EQ(written, io::to_bytes(*home, same.make_keys(many_requests(p), *home)));
}

TEST(Client, RefusesDevicesThatCannotKeepASecret) {
  client_options options = reproducible();
  options.device = "ghost";
  EXPECT_THAT([&] { client refused(params::preset(preset), options); },
              ThrowsMessage<invalid_argument>(HasSubstr("can keep no secret key")));
  options.device = "abacus";
  EXPECT_THAT([&] { client refused(params::preset(preset), options); },
              ThrowsMessage<invalid_argument>(HasSubstr("unknown device 'abacus'")));
}

}  // namespace
}  // namespace halocline::ckks

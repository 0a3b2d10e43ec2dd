// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/key_id.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"
#include "halocline/circuits/polynomial.hpp"
#include "halocline/ckks/client.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/error.hpp"
#include "support/ckks_fixture.hpp"

namespace halocline::ckks {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

[[nodiscard]] key_id id_of(std::uint8_t byte) {
  key_id id;
  id.bytes.fill(byte);
  return id;
}

[[nodiscard]] auto names_both(const key_id& a, const key_id& b) {
  return ThrowsMessage<key_mismatch>(AllOf(HasSubstr(to_string(a)), HasSubstr(to_string(b))));
}

[[nodiscard]] client_options one_thread() {
  client_options options;
  options.threads = 1;
  return options;
}

[[nodiscard]] engine_options engine_on(const char* device) {
  engine_options options;
  options.device = device;
  options.threads = 1;
  return options;
}

[[nodiscard]] circuits::transform_options in_mode(circuits::transform_mode mode) {
  circuits::transform_options options;
  options.mode = mode;
  return options;
}

TEST(KeyId, PrintsAllDigitsOrUnknown) {
  EXPECT_EQ(to_string(key_id{}), "unknown");
  key_id id;
  id.bytes[0] = 0x0f;
  id.bytes[15] = 0xa0;
  EXPECT_EQ(to_string(id), "0f0000000000000000000000000000a0");
  EXPECT_TRUE(id.is_known());
}

TEST(KeyId, IsDrawnAnewForEachKey) {
  const params::parameters p = params::preset("test-n10-d3");
  const client first(p, one_thread());
  const client second(p, one_thread());
  EXPECT_TRUE(first.id().is_known());
  EXPECT_NE(first.id(), second.id());
  ring::random_source a(backend::seed_bytes{1});
  ring::random_source b(backend::seed_bytes{1});
  ring::random_source c(backend::seed_bytes{1});
  EXPECT_EQ(make_key_id(a, p), make_key_id(b, p));
  EXPECT_NE(make_key_id(c, params::preset("test-n11-d8")), make_key_id(a, p));
}

TEST(KeyId, TheKnownOneOfTwoWinsAndTwoKnownOnesMustAgree) {
  const auto join = [](const key_id& a, const key_id& b) { return common_key(a, b, "op", "one", "other"); };
  EXPECT_EQ(join(id_of(1), {}), id_of(1));
  EXPECT_EQ(join({}, id_of(1)), id_of(1));
  EXPECT_EQ(join(id_of(1), id_of(1)), id_of(1));
  EXPECT_EQ(join({}, {}), key_id{});
  EXPECT_THAT([&] { (void)join(id_of(1), id_of(2)); }, names_both(id_of(1), id_of(2)));
}

/// Operands and keys of one client, and an operand of another.
class KeyOfResults : public ::testing::TestWithParam<const char*> {
 protected:
  KeyOfResults() : rig_(GetParam(), {1, 2, 3}), other_(GetParam()) {}

  using operation = std::function<ciphertext(evaluator&, const ciphertext&, const ciphertext&)>;

  /// Every operation of one or two ciphertexts, and whether it uses the second and evaluation keys.
  struct named_operation {
    const char* name;
    bool takes_two;
    bool takes_keys;
    operation run;
  };

  [[nodiscard]] static std::vector<named_operation> operations() {
    using C = const ciphertext&;
    const std::vector<std::int64_t> steps{1, 2};
    const auto dot = [](evaluator& e, C a, C b) {
      const std::vector<const ciphertext*> left{&a, &a};
      const std::vector<const ciphertext*> right{&a, &b};
      return e.dot(left, right);
    };
    const auto relinearized = [](evaluator& e, C a, C) {
      e.set_mode(maintenance::manual);
      const ciphertext triple = e.multiply(a, a);
      e.set_mode(maintenance::automatic);
      return e.relinearize(triple);
    };
    const circuits::polynomial cubic{circuits::polynomial_basis::monomial, {0.5, 0.25, 0.125, 0.0625}};
    return {
        {"add", true, false, [](evaluator& e, C a, C b) { return e.add(a, b); }},
        {"sub", true, false, [](evaluator& e, C a, C b) { return e.sub(a, b); }},
        {"sub lower", true, false, [](evaluator& e, C a, C b) { return e.sub(e.drop_level(a, 1), b); }},
        {"negate", false, false, [](evaluator& e, C a, C) { return e.negate(a); }},
        {"add_constant", false, false,
         [](evaluator& e, C a, C) {
           return e.add_constant(a, {1.0, 0.5});
         }},
        {"times", false, false, [](evaluator& e, C a, C) { return e.multiply_constant(a, 0.3); }},
        {"times_i", false, false, [](evaluator& e, C a, C) { return e.multiply_by_i(a); }},
        {"values", false, false,
         [](evaluator& e, C a, C) {
           const test::complex_vector ones(a.slots, 1.0);
           return e.multiply_values(e.add_values(a, ones), ones);
         }},
        {"drop_level", false, false, [](evaluator& e, C a, C) { return e.drop_level(a, 1); }},
        {"rescale", false, false, [](evaluator& e, C a, C) { return e.rescale(a); }},
        {"with_slots", false, false,
         [](evaluator& e, C a, C) { return with_slots(e.context(), a, a.slots); }},
        {"multiply", true, true, [](evaluator& e, C a, C b) { return e.multiply(a, b); }},
        {"dot", true, true, dot},
        {"relinearize", false, true, relinearized},
        {"rotate", false, true, [](evaluator& e, C a, C) { return e.rotate(a, 1); }},
        {"hoisted", false, true,
         [steps](evaluator& e, C a, C) { return std::move(e.rotate_hoisted(a, steps).back()); }},
        {"conjugate", false, true, [](evaluator& e, C a, C) { return e.conjugate(a); }},
        {"inner_sum", false, true, [](evaluator& e, C a, C) { return e.inner_sum(a, 1, 3); }},
        {"polynomial", false, true,
         [cubic](evaluator& e, C a, C) { return circuits::evaluate(e, cubic, a); }},
    };
  }

  test::ckks_rig rig_;
  test::ckks_rig other_;
};

TEST_P(KeyOfResults, IsThatOfTheOperands) {
  const ciphertext a = rig_.encrypt(rig_.random_values(rig_.slots(), 1));
  ciphertext unknown = clone(*rig_.ctx, a);
  unknown.key = {};
  ASSERT_EQ(a.key, rig_.secret.id);
  ASSERT_TRUE(a.key.is_known());
  for (const named_operation& each : operations()) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(each.run(rig_.eval, a, a).key, a.key);
    EXPECT_EQ(each.run(rig_.eval, a, unknown).key, a.key);
    const bool known = each.takes_two || each.takes_keys;
    EXPECT_EQ(each.run(rig_.eval, unknown, a).key.is_known(), known);
  }
}

TEST_P(KeyOfResults, TwoKeysAreRefusedWithBothNamed) {
  const ciphertext a = rig_.encrypt(rig_.random_values(rig_.slots(), 1));
  ciphertext strange = clone(*rig_.ctx, a);
  strange.key = id_of(9);
  const ciphertext both = clone(*rig_.ctx, strange);
  for (const named_operation& each : operations()) {
    SCOPED_TRACE(each.name);
    if (each.takes_two) {
      EXPECT_THAT([&] { (void)each.run(rig_.eval, a, strange); }, names_both(a.key, strange.key));
    }
    // Operands of one client, keys of another.
    if (each.takes_keys) {
      EXPECT_THAT([&] { (void)each.run(rig_.eval, strange, both); }, names_both(strange.key, a.key));
    } else {
      EXPECT_EQ(each.run(rig_.eval, strange, both).key, strange.key);
    }
    rig_.eval.set_mode(maintenance::automatic);
  }
  EXPECT_THAT([&] { (void)rig_.decrypt(strange); }, names_both(strange.key, a.key));
  EXPECT_THAT([&] { (void)rig_.decryptor.decrypt(strange, rig_.secret); }, names_both(strange.key, a.key));
}

TEST_P(KeyOfResults, TransformsJoinTheirInputs) {
  const ciphertext a = rig_.encrypt(rig_.random_values(rig_.slots(), 1));
  ciphertext strange = clone(*rig_.ctx, a);
  strange.key = id_of(9);
  ciphertext unknown = clone(*rig_.ctx, a);
  unknown.key = {};
  const circuits::diagonal_map band{{0, test::complex_vector(rig_.slots(), 1.0)},
                                    {1, test::complex_vector(rig_.slots(), 0.5)}};
  const circuits::diagonal_map same{{0, test::complex_vector(rig_.slots(), 1.0)}};
  for (const auto mode : {circuits::transform_mode::double_hoisted, circuits::transform_mode::small_key}) {
    const circuits::linear_transform shift(rig_.eval, band, in_mode(mode));
    EXPECT_EQ(shift.apply(rig_.eval, a).key, a.key);
    EXPECT_EQ(shift.apply(rig_.eval, unknown).key, a.key);  // that of the rotation key
    EXPECT_THAT([&] { (void)shift.apply(rig_.eval, strange); }, names_both(strange.key, a.key));
    const circuits::transform_grid sum(rig_.eval, {{same, same}}, in_mode(mode));
    const std::vector<const ciphertext*> two{&a, &strange};
    EXPECT_THAT([&] { (void)sum.apply(rig_.eval, two); }, names_both(a.key, strange.key));
    const std::vector<const ciphertext*> one{&unknown, &strange};
    EXPECT_EQ(sum.apply(rig_.eval, one).front().key, strange.key);  // no key is used
  }
}

INSTANTIATE_TEST_SUITE_P(Presets, KeyOfResults, ::testing::Values("test-n10-d3", "test-n10-d3-w64"),
                         [](const auto& info) {
                           return std::string(info.param).size() > 11 ? "w64" : "w32";
                         });

TEST(KeyId, KeysOfAClientCarryItThroughTransfers) {
  const params::parameters p = params::preset("test-n10-d3");
  client owner(p, one_thread());
  const std::vector<std::complex<double>> values{1.0};
  EXPECT_EQ(owner.encrypt(values).key, owner.id());
  encrypt_options through_public_key;
  through_public_key.use_public_key = true;
  EXPECT_EQ(owner.encrypt(values, through_public_key).key, owner.id());
  EXPECT_EQ(owner.public_key()->id, owner.id());
  const auto home = make_client_context(p, one_thread());
  const evaluation_key key = owner.make_key({relinearization_element, 1});
  EXPECT_EQ(transfer(key, *home).id, owner.id());
  key_selection none;
  none.relinearization = false;
  EXPECT_EQ(owner.make_keys(none).id(), owner.id());
  memory_key_set set(p, id_of(9));
  EXPECT_THAT(
      [&] {
        set.add(owner.make_key({relinearization_element, 1}));
      },
      names_both(id_of(9), owner.id()));
}

TEST(KeyId, AnEngineServesOneKey) {
  const params::parameters p = params::preset("test-n10-d3");
  client first(p, one_thread());
  client second(p, one_thread());
  const std::vector<std::complex<double>> values{1.0};
  for (const char* device : {"cpu", "ghost"}) {
    SCOPED_TRACE(device);
    engine on(p, engine_on(device));
    EXPECT_FALSE(on.id().is_known());
    EXPECT_NO_THROW((void)on.load(second.encrypt(values)));  // no keys yet
    on.add_keys(memory_key_set(p, first.id()));              // an empty set counts
    EXPECT_EQ(on.id(), first.id());
    EXPECT_THAT([&] { (void)on.load(second.encrypt(values)); }, names_both(second.id(), first.id()));
    EXPECT_THAT(
        [&] {
          on.add_key(second.make_key({relinearization_element, 0}));
        },
        names_both(first.id(), second.id()));
    EXPECT_EQ(on.load(first.encrypt(values)).key, first.id());
  }
}

// Shapes belong to no secret key, so that plans made on a ghost serve every client.
TEST(KeyId, GhostsHaveNone) {
  const params::parameters p = params::preset("test-n10-d3");
  engine ghost(p, engine_on("ghost"));
  const ciphertext a = ghost.ghost_input(2, p.level(2).scale, 512);
  const ciphertext result = ghost.evaluator().rotate(ghost.evaluator().multiply(a, a), 1);
  EXPECT_FALSE(result.key.is_known());
}

}  // namespace
}  // namespace halocline::ckks

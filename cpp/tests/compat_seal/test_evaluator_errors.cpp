// SPDX-License-Identifier: Apache-2.0
// Exceptions of the types that SEAL 4.4 throws for the same calls.
#include "operation.hpp"
#include "seal_rig.hpp"

namespace seal::test {
namespace {

using invalid = std::invalid_argument;

/// Throws exactly `std::logic_error`, of which `std::invalid_argument` is a special case.
template <typename CallT>
[[nodiscard]] testing::AssertionResult is_logic_error(CallT call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return testing::AssertionFailure() << "invalid_argument: " << error.what();
  } catch (const std::logic_error&) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "nothing was thrown";
}

struct CompatEvaluatorErrors : testing::Test {
  rig r{64, {60, 40, 40, 60}};
  Ciphertext x = r.encrypt(r.values(), 0x1p40);
  Ciphertext z;

  [[nodiscard]] Ciphertext scaled(double scale) const {
    Ciphertext made = x;
    made.scale() = scale;
    return made;
  }
};

TEST_F(CompatEvaluatorErrors, OperandsThatDoNotGoTogether) {
  Ciphertext lower;
  r.evaluator.mod_switch_to_next(x, lower);
  EXPECT_THROW(r.evaluator.add(x, lower, z), invalid);
  EXPECT_THROW(r.evaluator.multiply(x, lower, z), invalid);
  EXPECT_THROW(r.evaluator.add(x, scaled(0x1p41), z), invalid);
  EXPECT_THROW(r.evaluator.sub(x, scaled(0x1p41), z), invalid);
  EXPECT_THROW(r.evaluator.add_plain(lower, r.encode(r.values(), 0x1p40), z), invalid);
  EXPECT_THROW(r.evaluator.add_plain(x, r.encode(r.values(), 0x1p39), z), invalid);
  EXPECT_THROW(r.evaluator.add_plain(x, Plaintext("1"), z), invalid);
  EXPECT_THROW(r.evaluator.multiply_plain(x, Plaintext("1"), z), invalid);
  rig other(64, {50, 50});
  EXPECT_THROW(r.evaluator.negate(other.encrypt(other.values()), z), invalid);
  EXPECT_THROW(r.evaluator.negate(Ciphertext(), z), invalid);
  EXPECT_THROW(r.evaluator.multiply(x, x, z, MemoryPoolHandle()), invalid);
  EXPECT_THROW(r.evaluator.add_many({}, z), invalid);
  const std::vector<Ciphertext> list{x, x};
  EXPECT_THROW(r.evaluator.add_many(list, const_cast<Ciphertext&>(list[0])), invalid);
}

TEST_F(CompatEvaluatorErrors, Scales) {
  EXPECT_THROW(r.evaluator.multiply(scaled(0x1p80), scaled(0x1p80), z), invalid);
  EXPECT_THROW(r.evaluator.multiply(scaled(1e-160), scaled(1e-160), z), invalid);
  EXPECT_THROW(r.evaluator.square(scaled(1e-300), z), invalid);
  EXPECT_THROW(r.evaluator.rescale_to_next(scaled(1e-300), z), invalid);
  EXPECT_THROW(r.evaluator.mod_switch_to_next(scaled(0x1p120), z), invalid);
  EXPECT_THROW(r.evaluator.mod_switch_to(scaled(0x1p80), r.context.last_parms_id(), z), invalid);
  EXPECT_THROW(r.evaluator.negate(scaled(1e-310), z), invalid);
  EXPECT_THROW(r.evaluator.negate(scaled(-1.0), z), invalid);
  EXPECT_THROW(r.evaluator.negate(scaled(std::nan("")), z), invalid);
  r.evaluator.add(scaled(0x1p200), scaled(0x1p200), z);  // as in SEAL
  r.evaluator.rescale_to_next(scaled(1.0), z);
  EXPECT_LT(z.scale(), 1e-11);
}

TEST_F(CompatEvaluatorErrors, EndsOfTheChain) {
  Ciphertext last;
  r.evaluator.mod_switch_to(x, r.context.last_parms_id(), last);
  EXPECT_THROW(r.evaluator.mod_switch_to_next(last, z), invalid);
  EXPECT_THROW(r.evaluator.rescale_to_next(last, z), invalid);
  EXPECT_THROW(r.evaluator.mod_switch_to(last, r.context.first_parms_id(), z), invalid);
  EXPECT_THROW(r.evaluator.rescale_to(last, r.context.first_parms_id(), z), invalid);
  EXPECT_THROW(r.evaluator.mod_switch_to(x, parms_id_zero, z), invalid);
  EXPECT_THROW(r.evaluator.rescale_to(x, parms_id_zero, z), invalid);
  EXPECT_THROW(r.evaluator.mod_switch_to(x, r.context.key_parms_id(), z), invalid);
  r.evaluator.rescale_to(x, x.parms_id(), z);
  EXPECT_EQ(words_of(z), words_of(x));
  Plaintext plain;
  r.encoder.encode(1.0, r.context.last_parms_id(), 0x1p30, plain);
  EXPECT_THROW(r.evaluator.mod_switch_to_next_inplace(plain), invalid);
}

TEST_F(CompatEvaluatorErrors, Keys) {
  Ciphertext product, cube;
  r.evaluator.multiply(x, scaled(1.0), product);
  r.evaluator.multiply(product, scaled(1.0), cube);
  EXPECT_THROW(r.evaluator.relinearize(product, RelinKeys(), z), invalid);
  EXPECT_THROW(r.evaluator.relinearize(cube, r.relin, z), invalid);
  r.evaluator.relinearize(x, r.relin, z);
  EXPECT_EQ(words_of(z), words_of(x));
  const GaloisKeys keys = r.galois();
  EXPECT_THROW(r.evaluator.rotate_vector(product, 1, keys, z), invalid);
  EXPECT_THROW(r.evaluator.rotate_vector(x, 1, GaloisKeys(), z), invalid);
  EXPECT_THROW(r.evaluator.rotate_vector(x, 32, keys, z), invalid);
  EXPECT_THROW(r.evaluator.apply_galois(x, 2, keys, z), invalid);
  EXPECT_THROW(r.evaluator.apply_galois(x, 1, keys, z), invalid);
  EXPECT_THROW(r.evaluator.apply_galois(x, 129, keys, z), invalid);
  rig other(64, {40, 40, 40});
  EXPECT_THROW(r.evaluator.relinearize(product, other.relin, z), invalid);
}

TEST_F(CompatEvaluatorErrors, CoefficientForm) {
  Ciphertext f;
  r.evaluator.transform_from_ntt(x, f);
  EXPECT_THROW(r.evaluator.add(f, x, z), invalid);
  EXPECT_THROW(r.evaluator.multiply(f, f, z), invalid);
  EXPECT_THROW(r.evaluator.rescale_to_next(f, z), invalid);
  EXPECT_THROW(r.evaluator.mod_switch_to_next(f, z), invalid);
  EXPECT_THROW(r.evaluator.add_plain(f, r.encode(r.values(), 0x1p40), z), invalid);
  EXPECT_THROW(r.evaluator.rotate_vector(f, 1, r.galois(), z), invalid);
  EXPECT_THROW(r.evaluator.transform_from_ntt(f, z), invalid);
  Plaintext plain;
  EXPECT_THROW(r.decryptor.decrypt(f, plain), invalid);
  Plaintext encoded = r.encode(r.values(), 0x1p40);
  EXPECT_THROW(r.evaluator.transform_to_ntt_inplace(encoded, r.context.first_parms_id()), invalid);
  Plaintext text("1x^1");
  EXPECT_THROW(r.evaluator.transform_to_ntt_inplace(text, r.context.first_parms_id()), invalid);
}

TEST_F(CompatEvaluatorErrors, TransparentResults) {
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.sub(x, x, z); }));
  const Ciphertext twin = x;
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.sub(x, twin, z); }));
  Ciphertext opposite;
  r.evaluator.negate(x, opposite);
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.add(x, opposite, z); }));
  Plaintext zero;
  r.encoder.encode(0.0, 0x1p30, zero);
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.multiply_plain(x, zero, z); }));
  const Ciphertext empty(r.context);
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.negate(empty, z); }));
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.add(empty, empty, z); }));
  const GaloisKeys keys = r.galois();
  EXPECT_THROW(r.evaluator.rotate_vector(empty, 1, keys, z), invalid);
  r.evaluator.rotate_vector(empty, 0, keys, z);
  EXPECT_EQ(z.size(), 0U);
  EXPECT_THROW(r.evaluator.complex_conjugate(empty, keys, z), invalid);
  EXPECT_THROW(r.evaluator.relinearize(empty, r.relin, z), invalid);
  EXPECT_THROW(r.evaluator.multiply(empty, x, z), invalid);
}

TEST_F(CompatEvaluatorErrors, OtherSchemes) {
  const GaloisKeys keys = r.galois();
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.multiply_many({x, x}, r.relin, z); }));
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.exponentiate(x, 2, r.relin, z); }));
  EXPECT_THROW(r.evaluator.exponentiate(x, 0, r.relin, z), invalid);
  r.evaluator.exponentiate(x, 1, r.relin, z);
  EXPECT_EQ(words_of(z), words_of(x));
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.rotate_rows_inplace(x, 1, keys); }));
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.rotate_columns_inplace(x, keys); }));
  EXPECT_TRUE(is_logic_error([&] { r.evaluator.mod_reduce_to_next_inplace(x); }));
  EXPECT_TRUE(is_logic_error([&] { Evaluator{bfv_context()}; }));
  EXPECT_TRUE(is_logic_error([&] { KeyGenerator{bfv_context()}; }));
  EXPECT_TRUE(is_logic_error([&] { BatchEncoder{bfv_context()}; }));
  EXPECT_THROW(BatchEncoder{r.context}, invalid);
}

/// The text of the std::invalid_argument that a call throws.
template <typename CallT>
[[nodiscard]] std::string message_of(CallT call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(CompatEvaluatorErrors, GaloisElementsOutOfRange) {
  GaloisKeys keys = r.galois();
  keys.data().resize(200);
  keys.data()[64] = keys.data()[1];  // of 129, which is 1 modulo 2 N
  EXPECT_EQ(message_of([&] { r.evaluator.apply_galois(x, 129, keys, z); }),
            "galois_elt 129 is not valid; expected an odd number below 128");
  EXPECT_THROW(r.evaluator.apply_galois(x, 4294967295U, keys, z), invalid);
}

// What only the library below finds wrong has SEAL's types too.
TEST_F(CompatEvaluatorErrors, ErrorsOfTheLibraryAreInvalidArguments) {
  const auto fail = [](auto error) {
    return [error] { halocline_detail::checked([&]() -> void { throw error; }); };
  };
  EXPECT_EQ(message_of(fail(halocline::invalid_argument("a"))), "a");
  EXPECT_EQ(message_of(fail(halocline::key_mismatch("b"))), "b");
  EXPECT_EQ(message_of(fail(halocline::level_exhausted("c"))), "c");
  EXPECT_EQ(message_of(fail(halocline::scale_mismatch("d"))), "d");
  EXPECT_EQ(message_of(fail(halocline::missing_key("e"))), "e");
  EXPECT_THROW(fail(halocline::device_error("f"))(), halocline::device_error);
}

TEST_F(CompatEvaluatorErrors, DamagedKeysAreRefused) {
  GaloisKeys shorter = r.galois();
  shorter.data(GaloisKeys::get_index(3)).pop_back();
  EXPECT_EQ(message_of([&] { r.evaluator.apply_galois(x, 3, shorter, z); }),
            "key: it has 2 digits; its sizes need 3");
}

TEST_F(CompatEvaluatorErrors, TextsSayWhatWasRequested) {
  EXPECT_EQ(message_of([&] { r.evaluator.add(x, scaled(0x1p-30), z); }),
            "scale mismatch: 1099511627776 and 9.3132257461547852e-10");
  EXPECT_EQ(message_of([&] { r.evaluator.multiply(x, scaled(0x1p300), z); }).substr(0, 47),
            "scale out of bounds: 2.2397447421778042e+102 fo");
  GaloisKeys keys;
  r.generator.create_galois_keys(std::vector<int>{4}, keys);
  EXPECT_EQ(message_of([&] { r.evaluator.rotate_vector(x, 3, keys, z); }),
            "Galois key not present, for 3 steps, nor the one for -1 that it could be made of");
  EXPECT_EQ(message_of([&] { r.evaluator.rotate_vector(x, -2, keys, z); }),
            "Galois key not present, for -2 steps");
}

// A failed operation leaves its destination alone.
TEST_F(CompatEvaluatorErrors, FailuresChangeNothing) {
  Ciphertext a = x;
  EXPECT_THROW(r.evaluator.add_inplace(a, scaled(0x1p41)), invalid);
  EXPECT_EQ(words_of(a), words_of(x));
  EXPECT_ANY_THROW(r.evaluator.sub_inplace(a, x));
  EXPECT_EQ(words_of(a), words_of(x));
  EXPECT_THROW(r.evaluator.mod_switch_to_inplace(a, parms_id_zero), invalid);
  EXPECT_EQ(a.parms_id(), x.parms_id());
}

}  // namespace
}  // namespace seal::test

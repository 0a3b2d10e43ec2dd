// SPDX-License-Identifier: Apache-2.0
// Objects and results are those of SEAL itself: seal_python_side.py. Skipped where seal-python is not
// installed.
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "seal_rig.hpp"
#include "support/temporary_folder.hpp"

namespace seal::test {
namespace {

struct set {
  const char* arguments;
  std::size_t n;
};

class CompatSealPython : public testing::TestWithParam<set> {
 protected:
  /// Runs a command of the script; -1 where Python or seal-python are missing.
  [[nodiscard]] int run(const std::string& command, const std::string& arguments = "") const {
    const char* const python = std::getenv("HALOCLINE_PYTHON");
    if (python == nullptr) return -1;
    const std::string script = std::filesystem::path(__FILE__).replace_filename("seal_python_side.py");
    const int status = std::system(
        (std::string(python) + " " + script + " " + command + " " + folder_.string() + " " + arguments)
            .c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    return code == 77 ? -1 : code;
  }
  template <typename ObjectT>
  [[nodiscard]] ObjectT load(const SEALContext& context, const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    ObjectT made;
    made.load(context, file);
    return made;
  }
  template <typename ObjectT>
  void save(const ObjectT& object, const std::string& name) const {
    std::ofstream file(folder_ / name, std::ios::binary);
    object.save(file, compr_mode_type::none);
  }
  [[nodiscard]] SEALContext context() const {
    EncryptionParameters parms;
    std::ifstream file(folder_ / "parms", std::ios::binary);
    parms.load(file);
    return SEALContext(parms);
  }

  halocline::test::temporary_folder holder_;
  std::filesystem::path folder_ = holder_.path();
};

TEST_P(CompatSealPython, ResultsAreEqual) {
  const int made = run("make", GetParam().arguments);
  if (made == -1)
    GTEST_SKIP() << "HALOCLINE_PYTHON is not set, or has no seal-python: tools/requirements/peers.txt";
  ASSERT_EQ(made, 0);
  const SEALContext with = context();
  const auto ct = [&](const std::string& name) { return load<Ciphertext>(with, name); };
  const Ciphertext x = ct("x"), y = ct("y");
  const auto plain = load<Plaintext>(with, "plain");
  const auto relin = load<RelinKeys>(with, "relin");
  const auto galois = load<GaloisKeys>(with, "galois");
  const Evaluator on(with);
  const auto expect_equal = [&](const Ciphertext& ours, const std::string& name) {
    const Ciphertext theirs = ct(name);
    EXPECT_EQ(ours.parms_id(), theirs.parms_id()) << name;
    EXPECT_EQ(ours.scale(), theirs.scale()) << name;
    EXPECT_EQ(ours.is_ntt_form(), theirs.is_ntt_form()) << name;
    EXPECT_TRUE(words_of(ours) == words_of(theirs)) << name;
  };
  Ciphertext z, product, linear, lower;
  on.multiply(x, y, product);
  on.relinearize(product, relin, linear);
  on.mod_switch_to_next(x, lower);
  expect_equal(product, "multiply");
  expect_equal(linear, "relinearize");
  expect_equal(lower, "mod_switch");
  expect_equal((on.negate(x, z), z), "negate");
  expect_equal((on.add(x, y, z), z), "add");
  expect_equal((on.sub(x, y, z), z), "sub");
  expect_equal((on.add_many({x, y, x}, z), z), "sum");
  expect_equal((on.add_plain(x, plain, z), z), "add_plain");
  expect_equal((on.sub_plain(x, plain, z), z), "sub_plain");
  expect_equal((on.multiply_plain(x, plain, z), z), "multiply_plain");
  expect_equal((on.square(x, z), z), "square");
  expect_equal((on.rescale_to_next(linear, z), z), "rescale");
  expect_equal((on.rescale_to_next(product, z), z), "rescale_product");
  expect_equal((on.transform_from_ntt(x, z), z), "from_ntt");
  expect_equal((on.complex_conjugate(lower, galois, z), z), "conjugate");
  expect_equal((on.apply_galois(x, 9, galois, z), z), "galois_element");
  for (const int steps : {1, -1, 3, -5, 7}) {
    expect_equal((on.rotate_vector(lower, steps, galois, z), z), "rotate" + std::to_string(steps));
  }
}

TEST_P(CompatSealPython, PlaintextsAreEqualUpToRoundingOfDoubles) {
  const int made = run("make", GetParam().arguments);
  if (made == -1)
    GTEST_SKIP() << "HALOCLINE_PYTHON is not set, or has no seal-python: tools/requirements/peers.txt";
  ASSERT_EQ(made, 0);
  const SEALContext with = context();
  const CKKSEncoder encoder(with);
  Plaintext ours;
  encoder.encode(1.25, 0x1p30, ours);
  EXPECT_EQ(ours, load<Plaintext>(with, "number"));
  encoder.encode(std::int64_t{-37}, ours);
  EXPECT_EQ(ours, load<Plaintext>(with, "integer"));
  std::vector<double> message;
  const auto theirs = load<Plaintext>(with, "plain");
  for (std::size_t i = 0; i < encoder.slot_count(); ++i) {
    message.push_back(std::sin(1.0 + 12.9898 * static_cast<double>(i) * 3.0 + 2.0));
  }
  encoder.encode(message, 0x1p30, ours);
  // Coefficients of the difference: both sides round, and may fall on different sides of a half.
  Ciphertext difference(with);
  difference.resize(2);
  difference.is_ntt_form() = true;
  const auto& primes = with.first_context_data()->parms().coeff_modulus();
  for (std::size_t i = 0; i < ours.coeff_count(); ++i) {
    const std::uint64_t q = primes[i / GetParam().n].value();
    const std::uint64_t word = (std::as_const(ours)[i] + q - theirs[i]) % q;
    difference.data(0)[i] = difference.data(1)[i] = word;
  }
  Evaluator on(with);
  if (!difference.is_transparent()) on.transform_from_ntt_inplace(difference);
  const std::uint64_t q = primes[0].value();
  std::size_t different = 0;
  for (std::size_t i = 0; i < GetParam().n; ++i) {
    const std::uint64_t word = std::as_const(difference).data(0)[i];
    ASSERT_TRUE(word <= 1 || word == q - 1) << word;
    different += word != 0 ? 1 : 0;
  }
  EXPECT_LE(different, GetParam().n / 1000);
  std::vector<double> back;
  encoder.decode(theirs, back);
  for (std::size_t i = 0; i < back.size(); ++i) ASSERT_NEAR(back[i], message[i], 1e-6);
}

TEST_P(CompatSealPython, SealReadsOurObjects) {
  const int made = run("make", GetParam().arguments);
  if (made == -1)
    GTEST_SKIP() << "HALOCLINE_PYTHON is not set, or has no seal-python: tools/requirements/peers.txt";
  ASSERT_EQ(made, 0);
  const SEALContext with = context();
  KeyGenerator keys(with);
  save(keys.secret_key(), "our_secret");
  save(keys.create_relin_keys(), "our_relin");  // seeded
  GaloisKeys galois;
  keys.create_galois_keys(std::vector<int>{3}, galois);
  save(galois, "our_galois");
  PublicKey public_key;
  keys.create_public_key(public_key);
  save(public_key, "our_public");
  Encryptor encryptor(with, public_key, keys.secret_key());
  std::vector<double> message;
  std::ofstream text(folder_ / "message");
  for (std::size_t i = 0; i < GetParam().n / 2; ++i) {
    message.push_back(static_cast<double>(i % 17) / 8.0 - 1.0);
    text << message.back() << '\n';
  }
  text.close();
  Plaintext plain;
  CKKSEncoder(with).encode(message, 0x1p30, plain);
  Ciphertext x;
  encryptor.encrypt(plain, x);
  save(x, "our_public_ciphertext");
  encryptor.encrypt_symmetric(plain, x);
  save(x, "our_symmetric_ciphertext");
  save(encryptor.encrypt_symmetric(plain), "our_seeded_ciphertext");
  EXPECT_EQ(run("check"), 0);
  // And what SEAL encrypted under its own key.
  Decryptor decryptor(with, load<SecretKey>(with, "secret"));
  decryptor.decrypt(load<Ciphertext>(with, "y"), plain);
  CKKSEncoder(with).decode(plain, message);
  for (std::size_t i = 0; i < message.size(); ++i) {
    ASSERT_NEAR(message[i], std::sin(1.0 + 12.9898 * static_cast<double>(i) * 3.0 + 2.0), 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, CompatSealPython,
                         testing::Values(set{"4096 36 36 37", 4096}, set{"8192 60 40 40 60", 8192}),
                         [](const auto& info) { return std::to_string(info.param.n); });

}  // namespace
}  // namespace seal::test

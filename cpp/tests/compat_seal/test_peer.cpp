// SPDX-License-Identifier: Apache-2.0
// Against SEAL itself, through seal-python (peer.py): files in both directions, equal integers, equal
// judgements of parameters. Skipped where `$HALOCLINE_PYTHON`, or python3, has no seal-python.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "seal/seal.h"
#include "seal_objects.hpp"

namespace seal {
namespace {

constexpr double scale = 1 << 30;

class SealPeer : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "halocline_peer_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Runs a command of peer.py; its exit status.
  [[nodiscard]] int peer(const std::string& command) const {
    const char* python = std::getenv("HALOCLINE_PYTHON");
    const auto script = std::filesystem::path(__FILE__).parent_path() / "peer.py";
    const std::string line = std::string(python != nullptr ? python : "python3") + " '" + script.string() +
                             "' " + command + " '" + folder_.string() + "'";
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  template <typename ObjectT>
  void load(const SEALContext& context, const std::string& name, ObjectT& to) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    to.load(context, in);
    EXPECT_EQ(test::saved(to), text(name)) << name << " is written as SEAL wrote it";
  }
  template <typename ObjectT>
  void save(const ObjectT& object, const std::string& name) const {
    std::ofstream out(folder_ / name, std::ios::binary);
    object.save(out, compr_mode_type::none);
  }

  std::filesystem::path folder_;
};

std::vector<double> values() {
  std::vector<double> made;
  for (int i = 0; i < 8; ++i) made.push_back(0.25 * i - 1.0);
  return made;
}

#define SKIP_WITHOUT_PEER(status)                       \
  if ((status) == 77) GTEST_SKIP() << "no seal-python"; \
  ASSERT_EQ(status, 0)

TEST_F(SealPeer, FilesOfSealAreLoadedAndGiveTheSameIntegers) {
  SKIP_WITHOUT_PEER(peer("write"));
  EncryptionParameters parms;
  std::ifstream in(folder_ / "parms", std::ios::binary);
  parms.load(in);
  EXPECT_EQ(test::saved(parms), text("parms"));
  const SEALContext context(parms);
  SecretKey secret;
  PublicKey pub;
  RelinKeys relin;
  GaloisKeys galois;
  Plaintext plain;
  Ciphertext cipher;
  load(context, "secret", secret);
  load(context, "public", pub);
  load(context, "relin", relin);
  load(context, "galois", galois);
  load(context, "plain", plain);
  load(context, "cipher", cipher);

  Decryptor decryptor(context, secret);
  CKKSEncoder encoder(context);
  std::vector<double> decoded;
  encoder.decode(plain, decoded);
  for (std::size_t i = 0; i < values().size(); ++i) EXPECT_NEAR(decoded[i], values()[i], 1e-6);
  decryptor.decrypt(cipher, plain);
  encoder.decode(plain, decoded);
  for (std::size_t i = 0; i < values().size(); ++i) EXPECT_NEAR(decoded[i], values()[i], 1e-3);

  Evaluator evaluator(context);
  Ciphertext result;
  evaluator.square(cipher, result);
  evaluator.relinearize_inplace(result, relin);
  evaluator.rescale_to_next_inplace(result);
  EXPECT_TRUE(test::saved(result) == text("product")) << "residues, scale and all";
  evaluator.rotate_vector(cipher, 1, galois, result);
  EXPECT_TRUE(test::saved(result) == text("rotated"));
}

TEST_F(SealPeer, OurFilesAreLoadedBySeal) {
  EncryptionParameters parms(scheme_type::ckks);
  parms.set_poly_modulus_degree(4096);
  parms.set_coeff_modulus(CoeffModulus::Create(4096, {36, 36, 37}));
  const SEALContext context(parms);
  KeyGenerator keygen(context);
  PublicKey pub;
  keygen.create_public_key(pub);
  save(parms, "parms");
  save(keygen.secret_key(), "secret");
  save(pub, "public");
  save(keygen.create_relin_keys(), "relin");  // with seeds, as the next one
  save(keygen.create_galois_keys(std::vector<int>{1}), "galois");
  CKKSEncoder encoder(context);
  Plaintext plain;
  encoder.encode(values(), scale, plain);
  Encryptor encryptor(context, pub, keygen.secret_key());
  Ciphertext cipher;
  encryptor.encrypt(plain, cipher);
  save(cipher, "cipher");
  save(encryptor.encrypt_symmetric(plain), "symmetric");
  EXPECT_LT(text("symmetric").size(), text("cipher").size() / 2 + 200);
  SKIP_WITHOUT_PEER(peer("read"));
}

/// What SEAL says of each level of a context, as peer.py writes it.
std::string judgement(const SEALContext& context) {
  std::ostringstream out;
  out << context.key_context_data()->qualifiers().parameter_error_name();
  for (auto data = context.key_context_data(); data != nullptr; data = data->next_context_data()) {
    const EncryptionParameterQualifiers q = data->qualifiers();
    out << ' ' << data->chain_index() << ' ' << data->total_coeff_modulus_bit_count() << ' '
        << data->parms_id()[0];
    out << ' ' << q.using_fft << ' ' << q.using_ntt << ' ' << q.using_batching << ' '
        << q.using_fast_plain_lift;
    out << ' ' << q.using_descending_modulus_chain << ' ' << static_cast<int>(q.sec_level);
  }
  return out.str();
}

TEST_F(SealPeer, ParametersAreJudgedAsSealJudges) {
  SKIP_WITHOUT_PEER(peer("contexts"));
  std::ifstream in(folder_ / "contexts");
  std::string line;
  std::getline(in, line);
  SCOPED_TRACE(line);
  std::size_t lines = 0;
  for (; std::getline(in, line); ++lines) {
    std::istringstream head(line);
    int scheme = 0, expand = 0, level = 0;
    std::size_t n = 0, count = 0;
    std::uint64_t plain = 0;
    head >> scheme >> n >> plain >> expand >> level >> count;
    std::vector<Modulus> primes;
    for (std::uint64_t prime = 0; primes.size() < count && head >> prime;) primes.emplace_back(prime);
    EncryptionParameters parms(static_cast<std::uint8_t>(scheme));
    parms.set_poly_modulus_degree(n);
    parms.set_coeff_modulus(primes);
    parms.set_plain_modulus(plain);
    const SEALContext context(parms, expand != 0, static_cast<sec_level_type>(level));
    EXPECT_EQ(judgement(context), line.substr(line.find(':') + 2)) << line;
  }
  EXPECT_EQ(lines, 200U);
}

}  // namespace
}  // namespace seal

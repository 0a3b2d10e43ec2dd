// SPDX-License-Identifier: Apache-2.0
// Against SEAL itself, through seal-python (peer.py): equal bytes, equal judgements of parameters. Skipped
// where `$HALOCLINE_PYTHON`, or python3, has no seal-python.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "seal/context.h"
#include "seal_objects.hpp"

namespace seal {
namespace {

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
  void expect_same(const SEALContext& context, const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    ObjectT loaded;
    loaded.load(context, in);
    EXPECT_TRUE(test::saved(loaded) == text(name)) << name;
    EXPECT_EQ(loaded.save_size(compr_mode_type::none), static_cast<std::streamoff>(text(name).size()));
  }

  std::filesystem::path folder_;
};

#define SKIP_WITHOUT_PEER(status)                       \
  if ((status) == 77) GTEST_SKIP() << "no seal-python"; \
  ASSERT_EQ(status, 0)

TEST_F(SealPeer, FilesOfSealAreWrittenAsTheyWere) {
  SKIP_WITHOUT_PEER(peer("write"));
  EncryptionParameters parms;
  std::ifstream in(folder_ / "parms", std::ios::binary);
  parms.load(in);
  EXPECT_EQ(test::saved(parms), text("parms"));
  const SEALContext context(parms);
  expect_same<SecretKey>(context, "secret");
  expect_same<PublicKey>(context, "public");
  expect_same<RelinKeys>(context, "relin");
  expect_same<GaloisKeys>(context, "galois");
  expect_same<Plaintext>(context, "plain");
  expect_same<Ciphertext>(context, "cipher");
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

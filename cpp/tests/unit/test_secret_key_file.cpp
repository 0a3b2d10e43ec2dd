// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/secret_key_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "halocline/ckks/client.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/io/key_file.hpp"
#include "support/container_samples.hpp"
#include "support/object_samples.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::io {
namespace {

using test::byte_vector;
using test::contents;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SecretKeyFile : public ::testing::TestWithParam<unsigned> {
 protected:
  SecretKeyFile() : ctx_(test::tiny_context(GetParam())), path_(folder_ / "secret.hlc") {}

  [[nodiscard]] ckks::context& context() const { return *ctx_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  [[nodiscard]] static ckks::secret_key make_key(ckks::context& ctx) {
    ring::random_source random(backend::seed_bytes{1});
    return ckks::key_generator(ctx, random).make_secret_key();
  }

  /// Writes a secret key container with any coefficients.
  void forge(const byte_vector& coefficients) const {
    const std::string json = context().parameters().to_json();
    container_writer writer(path_, object_kind::secret_key, context().parameters().fingerprint());
    writer.add_section({section_tag("PARM"), 0, 0}, std::as_bytes(std::span(json)));
    writer.add_section({section_tag("COEF"), 0, 0}, coefficients);
    writer.finish();
  }

 private:
  test::temporary_folder folder_;
  std::shared_ptr<ckks::context> ctx_;
  std::filesystem::path path_;
};

TEST_P(SecretKeyFile, KeysComeBackAndBelongToTheOwnerOnly) {
  const ckks::secret_key original = make_key(context());
  save_secret_key(path(), context(), original);
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  const ckks::secret_key copy = load_secret_key(path(), context());
  EXPECT_TRUE(contents(context(), copy.coefficients) == contents(context(), original.coefficients));
  EXPECT_EQ(copy.value.special().primes, original.value.special().primes);
  EXPECT_EQ(copy.value.chain().primes, original.value.chain().primes);
  EXPECT_TRUE(contents(context(), copy.value.data()) == contents(context(), original.value.data()));
  EXPECT_TRUE(original.id.is_known());
  EXPECT_EQ(copy.id, original.id);
}

TEST_P(SecretKeyFile, AKeyWithoutIdentifierGetsOneOnRequest) {
  forge(byte_vector(context().parameters().n()));
  const auto load = [&] {
    const auto shared = test::tiny_context(GetParam());
    ckks::secret_key key = load_secret_key(path(), *shared);
    return ckks::client(shared, std::move(key));
  };
  ckks::client client = load();
  EXPECT_FALSE(client.id().is_known());
  EXPECT_FALSE(client.public_key()->id.is_known());
  client.assign_id();
  EXPECT_TRUE(client.id().is_known());
  EXPECT_EQ(client.public_key()->id, client.id());
  EXPECT_THROW(client.assign_id(), invalid_argument);
  EXPECT_FALSE(load().id().is_known());
  save_secret_key(path(), client.context(), client.secret_key());
  EXPECT_EQ(load().id(), client.id());
}

TEST_P(SecretKeyFile, SecretAndPublicFilesAreNotConfused) {
  save_secret_key(path(), context(), make_key(context()));
  EXPECT_THAT([&] { (void)load_evaluation_keys(path(), context()); },
              ThrowsMessage<invalid_argument>(HasSubstr("kind 'secret key', expected 'evaluation keys'")));
  save(path(), context(), test::sample_keys(context()));
  EXPECT_THAT([&] { (void)load_secret_key(path(), context()); },
              ThrowsMessage<invalid_argument>(HasSubstr("kind 'evaluation keys', expected 'secret key'")));
}

TEST_P(SecretKeyFile, CoefficientsMustBeTernary) {
  byte_vector coefficients(context().parameters().n());
  forge(coefficients);
  EXPECT_NO_THROW((void)load_secret_key(path(), context()));
  coefficients[100] = std::byte{2};
  forge(coefficients);
  EXPECT_THAT([&] { (void)load_secret_key(path(), context()); },
              ThrowsMessage<corrupt_data>(HasSubstr("not -1, 0 or 1")));
  coefficients.resize(coefficients.size() - 1);
  forge(coefficients);
  EXPECT_THAT([&] { (void)load_secret_key(path(), context()); },
              ThrowsMessage<corrupt_data>(AllOf(HasSubstr("1023 bytes"), HasSubstr("expected 1024"))));
}

TEST_P(SecretKeyFile, ASparseKeyMustHaveItsHammingWeight) {
  auto source = test::tiny_literal(GetParam());
  source.secret = {params::secret_kind::sparse, 64};
  const auto sparse =
      ckks::make_context(params::parameters::from_literal(source), backend::make_backend("cpu"));
  save_secret_key(path(), *sparse, make_key(*sparse));
  EXPECT_NO_THROW((void)load_secret_key(path(), *sparse));
  const auto reader = container_reader::open(path());
  byte_vector coefficients = reader.read_all(reader.at({section_tag("COEF"), 0, 0}), 1 << 20);
  const auto nonzero =
      std::find_if(coefficients.begin(), coefficients.end(), [](std::byte b) { return b != std::byte{0}; });
  *nonzero = std::byte{0};
  container_writer writer(path(), reader.kind(), reader.parameters());
  writer.add_section({section_tag("PARM"), 0, 0}, reader.view(reader.at({section_tag("PARM"), 0, 0})));
  writer.add_section({section_tag("COEF"), 0, 0}, coefficients);
  writer.finish();
  EXPECT_THAT([&] { (void)load_secret_key(path(), *sparse); },
              ThrowsMessage<corrupt_data>(HasSubstr("does not have 64 nonzero coefficients")));
}

INSTANTIATE_TEST_SUITE_P(WordBits, SecretKeyFile, ::testing::Values(32U, 64U),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace halocline::io

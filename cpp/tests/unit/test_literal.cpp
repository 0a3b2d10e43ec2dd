// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/literal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"
#include "support/literal_check.hpp"

namespace halocline::params {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void expect_refused(std::string_view text, const std::string& fragment) {
  EXPECT_THAT([&] { (void)literal::from_json(text); }, ThrowsMessage<invalid_argument>(HasSubstr(fragment)))
      << text;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Literal, EveryPresetRoundTrips) {
  for (const std::string& name : preset_names()) {
    const literal source = preset_literal(name);
    EXPECT_EQ(literal::from_json(source.to_json()), source) << name;
    EXPECT_EQ(literal::from_json(source.to_json(0)), source) << name;
  }
}

TEST(Literal, EveryFieldRoundTrips) {
  literal source;
  source.name = "other";
  source.log_n = 11;
  source.word_bits = 64;
  source.scale_bits = 1.0 / 3;  // literals are unchecked: any number survives
  source.base_bits = 1e-300;
  source.depth = 4294967295U;
  source.main_bits = -0.1;
  source.terminal_bits = 5e-324;
  source.special_primes = 7;
  source.special_bits = 0.7;
  source.digit_size = 9;
  source.secret = {secret_kind::sparse, 192};
  source.error_stddev = 3.19;
  source.galois_generator = 3;
  source.allow_insecure = true;
  EXPECT_EQ(literal::from_json(source.to_json()), source);
  source.bootstrapping = bootstrap_literal{{1.0 / 7, 3}, {0.1, 4294967295U}, 5, 6, 7};
  EXPECT_EQ(literal::from_json(source.to_json()), source);
}

TEST(Literal, BootstrappingIsWrittenOnlyWhereItIs) {
  EXPECT_EQ(literal{}.to_json().find("bootstrapping"), std::string::npos);
  const literal source = literal::from_json(
      R"({"schema": 1, "log_n": 16, "bootstrapping": {"eval_mod": {"bits": 58, "levels": 9}}})");
  ASSERT_TRUE(source.bootstrapping.has_value());
  EXPECT_EQ(source.bootstrapping->eval_mod, (level_group{58, 9}));
  EXPECT_EQ(source.bootstrapping->coeff_to_slot, bootstrap_literal{}.coeff_to_slot);
  EXPECT_EQ(literal::from_json(R"({"schema": 1, "log_n": 16, "bootstrapping": {}})").bootstrapping,
            bootstrap_literal{});
}

TEST(Literal, AbsentFieldsKeepDefaults) {
  literal expected;
  expected.log_n = 15;
  EXPECT_EQ(literal::from_json(R"({"schema": 1, "log_n": 15})"), expected);
  const literal wide = literal::from_json(R"({"log_n": 15, "word_bits": 64, "schema": 1})");
  EXPECT_EQ(wide.main_bits, 0);
  EXPECT_EQ(wide.terminal_bits, 0);
}

TEST(Literal, RefusesWithTheFieldsName) {
  expect_refused(R"({"schema": 1, "log_n": 15, "logn": 3})",
                 "unknown field \"logn\" in the parameter literal");
  expect_refused(R"({"schema": 1, "log_n": 15, "secret": {"kind": "ternary", "weight": 3}})",
                 "unknown field \"weight\" in \"secret\"; expected one of kind, hamming_weight");
  expect_refused(R"({"schema": 1, "log_n": 15, "secret": {"kind": "binary"}})", "secret kind is \"binary\"");
  expect_refused(R"({"schema": 1, "log_n": 15, "secret": {}})", "\"secret\" lacks \"kind\"");
  expect_refused(R"({"schema": 1, "log_n": "15"})", "\"log_n\" is of kind string; expected a number");
  expect_refused(R"({"schema": 1, "log_n": 15.5})", "\"log_n\" is 15.5; expected an integer");
  expect_refused(R"({"schema": 2, "log_n": 15})", "schema 2; expected 1");
  expect_refused(R"({"log_n": 15})", "lacks \"schema\"");
  expect_refused(R"({"schema": 1})", "lacks \"log_n\"");
  expect_refused(R"({"schema": 1, "log_n": 15, "bootstrapping": {"levels": 3}})",
                 "unknown field \"levels\" in \"bootstrapping\"; expected one of eval_mod, coeff_to_slot, "
                 "slot_to_coeff_levels, ephemeral_weight, ephemeral_special_primes");
  expect_refused(R"({"schema": 1, "log_n": 15, "bootstrapping": {"eval_mod": {"bits": 60}}})",
                 "\"eval_mod\" lacks \"levels\"");
  expect_refused(R"({"schema": 1, "log_n": 15, "bootstrapping": null})",
                 "is of kind null; expected an object");
  expect_refused("[]", "is of kind array; expected an object");
}

TEST(Literal, RefusesTextThatIsNoJson) {
  EXPECT_THAT([] { (void)literal::from_json("{\"schema\": 1,"); },
              ThrowsMessage<corrupt_data>(HasSubstr("column 14")));
  const std::string large(literal::max_json_bytes + 1, ' ');
  EXPECT_THAT([&] { (void)literal::from_json(large); },
              ThrowsMessage<corrupt_data>(HasSubstr("at most 65536")));
}

// The committed seeds of fuzz_literal run in every build. With HALOCLINE_WRITE_CORPUS=cpp/tests/fuzz/corpus
// the presets among them are written again.
TEST(Literal, CorpusOfTheFuzzerHolds) {
  const auto folder =
      std::filesystem::path(__FILE__).parent_path().parent_path() / "fuzz" / "corpus" / "literal";
  if (const char* corpus = std::getenv("HALOCLINE_WRITE_CORPUS")) {
    for (const std::string& name : preset_names()) {
      std::ofstream(std::filesystem::path(corpus) / "literal" / ("preset_" + name))
          << preset_literal(name).to_json(0);
    }
  }
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the sources are not next to this build: " << folder;
  std::size_t accepted = 0;
  std::size_t all = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    accepted += test::check_literal_bytes(read_file(entry.path())) ? 1 : 0;
    ++all;
  }
  EXPECT_GE(accepted, preset_names().size());
  EXPECT_GT(all, accepted);
}

}  // namespace
}  // namespace halocline::params

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cuda/arguments.hpp"

namespace halocline::bench {
namespace {

using testing::HasSubstr;

/// Reads a command line; the message of what was refused, "" where nothing was.
template <typename ArgumentsT, typename... LimitT>
std::string read(ArgumentsT& to, std::vector<std::string> words, LimitT... limit) {
  CLI::App program;
  declare(program, to, limit...);
  try {
    program.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes the last word first
    return "";
  } catch (const CLI::ParseError& refused) {
    return refused.what();
  }
}

constexpr std::uint64_t gib = 1 << 30;

TEST(BenchArguments, RatioTakesABudgetOfHalfTheLimit) {
  ratio_arguments given;
  EXPECT_EQ(read(given, {"--out", "r.json"}, 4 * gib), "");
  EXPECT_EQ(given.out, "r.json");
  EXPECT_EQ(given.budget_mib, 128U);
  EXPECT_EQ(given.repetitions, 2U);
  EXPECT_FALSE(given.oversubscribe);
  EXPECT_EQ(
      read(given, {"--oversubscribe-managed", "--budget-mib", "2048", "--repetitions", "7", "--out", "x"},
           4 * gib),
      "");
  EXPECT_EQ(given.budget_mib, 2048U);
  EXPECT_EQ(given.repetitions, 7U);
  EXPECT_TRUE(given.oversubscribe);
}

TEST(BenchArguments, RatioRefusesWhatItCannotMeasure) {
  ratio_arguments given;
  EXPECT_THAT(read(given, {}, 4 * gib), HasSubstr("--out is required"));
  for (const char* const budget : {"0", "2049", "-1", "1.5", "many", ""}) {
    EXPECT_THAT(read(given, {"--out", "x", "--budget-mib", budget}, 4 * gib), HasSubstr("--budget-mib"))
        << budget;
  }
  EXPECT_THAT(read(given, {"--out", "x", "--repetitions", "101"}, 4 * gib), HasSubstr("--repetitions"));
  EXPECT_THAT(read(given, {"--out"}, 4 * gib), HasSubstr("--out"));
  EXPECT_THAT(read(given, {"--out", "x", "--fast"}, 4 * gib), HasSubstr("--fast"));
}

TEST(BenchArguments, FamilyAndShapesExcludeEachOther) {
  family_arguments given;
  EXPECT_EQ(read(given, {"--out", "n.json", "--family", "--quick"}), "");
  EXPECT_TRUE(given.family && given.quick && !given.tune);
  EXPECT_EQ(given.out, "n.json");
  EXPECT_THAT(read(given, {"--family", "--tune"}), HasSubstr("--family"));
  EXPECT_EQ(read(given, {"--forms"}), "");
  EXPECT_EQ(read(given, {"--routine"}), "");
  EXPECT_THAT(read(given, {"--forms", "--tune"}), HasSubstr("--tune"));
  EXPECT_THAT(read(given, {"--routine", "--forms"}), HasSubstr("--forms"));
  EXPECT_THAT(read(given, {"--device", "-1"}), HasSubstr("--device"));
  EXPECT_THAT(read(given, {"--device", "one"}), HasSubstr("--device"));
}

TEST(BenchArguments, KernelsTakeFileAndDriverWithAndWithoutNames) {
  kernel_arguments none, placed, named;
  EXPECT_EQ(read(none, {}), "");
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.driver, "unknown");
  EXPECT_EQ(read(placed, {"k.json", "580.1"}), "");
  EXPECT_EQ(read(named, {"--driver", "580.1", "--out", "k.json"}), "");
  for (const kernel_arguments& each : {placed, named}) {
    EXPECT_EQ(each.out, "k.json");
    EXPECT_EQ(each.driver, "580.1");
  }
  EXPECT_THAT(read(named, {"a", "b", "c"}), HasSubstr("c"));
}

}  // namespace
}  // namespace halocline::bench

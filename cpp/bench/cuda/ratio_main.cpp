// SPDX-License-Identifier: Apache-2.0
// `halocline bench ratio` runs this program in a process of its own, because of its managed memory.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "cuda/ratio_blocks.hpp"
#include "cuda/ratio_sweep.hpp"
#include "halocline/core/error.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/core/version.hpp"

namespace {

using namespace halocline;

struct arguments {
  bench::sweep_options sweep;
  std::string output;
};

constexpr std::string_view usage =
    "halocline_bench_ratio --out FILE [--budget-mib N] [--repetitions N] [--oversubscribe-managed]\n"
    "  --oversubscribe-managed  let managed memory exceed the card's: this can hang a GPU, also for others\n";

unsigned long whole(const char* given, std::string_view option, unsigned long most) {
  char* end = nullptr;
  const unsigned long value = given == nullptr ? 0 : std::strtoul(given, &end, 10);
  HALOCLINE_EXPECTS(given != nullptr && *end == '\0' && value >= 1 && value <= most, invalid_argument, option,
                    ": got '", given == nullptr ? "" : given, "', expected an integer from 1 to ", most);
  return value;
}

arguments parse(int count, char** values) {
  arguments result;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = values[i];
    const char* const next = i + 1 < count ? values[i + 1] : nullptr;
    if (option == "--oversubscribe-managed") {
      result.sweep.oversubscribe = true;
      continue;
    }
    ++i;
    if (option == "--out") {
      result.output = next == nullptr ? "" : next;
    } else if (option == "--budget-mib") {
      // Twice the budget is allocated, which must stay below the limit of managed memory.
      result.sweep.budget = whole(next, option, bench::managed_limit / 2 >> 20) << 20;
    } else if (option == "--repetitions") {
      result.sweep.repetitions = static_cast<unsigned>(whole(next, option, 100));
    } else {
      throw invalid_argument(text("unknown option '", option, "'\n", usage));
    }
  }
  HALOCLINE_EXPECTS(!result.output.empty(), invalid_argument, "no output file\n", usage);
  return result;
}

}  // namespace

int main(int count, char** values) {
  try {
    const arguments given = parse(count, values);
    json::object result{{"budget_bytes", std::uint64_t{given.sweep.budget}},
                        {"repetitions", given.sweep.repetitions},
                        {"oversubscribed", given.sweep.oversubscribe},
                        {"commit", std::string(commit())}};
    result.emplace_back("allocations", bench::run_allocations());
    result.emplace_back("sweep", bench::run_sweep(given.sweep));
    std::ofstream(given.output) << json::write(result, 2) << '\n';
    return EXIT_SUCCESS;
  } catch (const std::exception& failed) {
    std::cerr << "halocline_bench_ratio: " << failed.what() << '\n';
    return EXIT_FAILURE;
  }
}

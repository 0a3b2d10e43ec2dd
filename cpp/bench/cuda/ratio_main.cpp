// SPDX-License-Identifier: Apache-2.0
// `halocline bench ratio` runs this program in a process of its own, because of its managed memory.
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include "cuda/arguments.hpp"
#include "cuda/ratio_blocks.hpp"
#include "cuda/ratio_sweep.hpp"
#include "halocline/core/version.hpp"

namespace {

using namespace halocline;

void run(const bench::ratio_arguments& given) {
  const bench::sweep_options sweep{given.budget_mib << 20, given.repetitions, given.oversubscribe};
  json::object result{{"budget_bytes", std::uint64_t{sweep.budget}},
                      {"repetitions", sweep.repetitions},
                      {"oversubscribed", sweep.oversubscribe},
                      {"commit", std::string(commit())}};
  result.emplace_back("allocations", bench::run_allocations());
  result.emplace_back("sweep", bench::run_sweep(sweep));
  std::ofstream(given.out) << json::write(result, 2) << '\n';
}

}  // namespace

int main(int count, char** values) {
  bench::ratio_arguments given;
  CLI::App program;
  bench::declare(program, given, bench::managed_limit);
  CLI11_PARSE(program, count, values);
  try {
    run(given);
    return EXIT_SUCCESS;
  } catch (const std::exception& failed) {
    std::cerr << "halocline_bench_ratio: " << failed.what() << '\n';
    return EXIT_FAILURE;
  }
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

/// Command lines of the programs of this folder. Nothing here needs a GPU or its headers, so that they can be
/// tested.
namespace halocline::bench {

/// Of `halocline_bench_ratio`.
struct ratio_arguments {
  std::string out;                 ///< file that gets the result
  std::uint64_t budget_mib = 128;  ///< memory of the card that is imitated
  unsigned repetitions = 2;        ///< of each configuration; the fastest counts
  bool oversubscribe = false;      ///< let managed memory exceed the card's
};

/// Of `halocline_ntt_bench`.
struct family_arguments {
  std::string out = "ntt_bench.json";
  int device = 0;
  bool family = false, tune = false, forms = false, routine = false;  ///< only this part; none: the first two
  bool quick = false;
};

/// Of `halocline_kernel_bench`.
struct kernel_arguments {
  std::string out;                            ///< nothing is written when empty
  std::string driver = "unknown";             ///< version, which the CUDA runtime does not know
  bool reference = false, retrieval = false;  ///< only this part; both when neither is wanted
  bool key_sums = false;                      ///< only weighted sums of key products
  bool key_rows = false;                      ///< only key products of digits in coefficient form
  std::string levels;                         ///< parameters of private retrieval: only its levels; or empty
};

/// @param managed_limit bytes that managed memory may never exceed. Twice the budget is allocated.
inline void declare(CLI::App& to, ratio_arguments& read, std::uint64_t managed_limit) {
  to.description(
      "Stream-ordered and managed memory side by side, within a budget that imitates a small card.");
  to.add_option("--out", read.out, "file that gets the result as JSON")->required();
  to.add_option("--budget-mib", read.budget_mib, "memory of the card that is imitated, in MiB")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, managed_limit / 2 >> 20));
  to.add_option("--repetitions", read.repetitions, "of each configuration; the fastest counts")
      ->capture_default_str()
      ->check(CLI::Range(1U, 100U));
  to.add_flag("--oversubscribe-managed", read.oversubscribe,
              "let managed memory exceed the card's: this can hang a GPU, also for others");
}

inline void declare(CLI::App& to, family_arguments& read) {
  to.description("Transforms of the XeHE family, and shapes of the library's transform, on one card.");
  to.add_option("--out", read.out, "file that gets one JSON object a line")->capture_default_str();
  to.add_option("--device", read.device, "number of the card")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  auto* const family = to.add_flag("--family", read.family, "the family only");
  auto* const tune = to.add_flag("--tune", read.tune, "the shapes only")->excludes(family);
  auto* const forms = to.add_flag("--forms", read.forms, "the forms of 64-bit transforms only")
                          ->excludes(family)
                          ->excludes(tune);
  to.add_flag("--routine", read.routine, "a product of SEAL ciphertexts with each form only")
      ->excludes(family)
      ->excludes(tune)
      ->excludes(forms);
  to.add_flag("--quick", read.quick,
              "few batches, and no shapes of 64-bit words; of forms and the routine only the integers");
}

inline void declare(CLI::App& to, kernel_arguments& read) {
  to.description(
      "Every operation but transforms at 47 and 23 limbs, and those of private retrieval, in each variant, "
      "with its two floors.");
  to.add_option("out,--out", read.out, "file that gets the result as JSON");
  to.add_option("driver,--driver", read.driver, "version of the driver, for the file")->capture_default_str();
  auto* const reference = to.add_flag("--reference", read.reference, "the former only");
  auto* const retrieval = to.add_flag("--retrieval", read.retrieval, "those of private retrieval only");
  retrieval->excludes(reference);
  auto* const sums = to.add_flag("--key-sums", read.key_sums, "weighted sums of key products only");
  sums->excludes(reference)->excludes(retrieval);
  to.add_flag("--key-rows", read.key_rows, "key products of digits in coefficient form only")
      ->excludes(reference)
      ->excludes(retrieval)
      ->excludes(sums);
  to.add_option("--levels", read.levels,
                "only levels of expansions and selections, fused and not, and sums over rows in each variant")
      ->check(CLI::IsMember({"n2048", "n4096", "paper"}));
}

}  // namespace halocline::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "halocline/pir/fusion.hpp"

namespace halocline::bench {

/// Of `halocline_retrieval_bench`.
struct retrieval_arguments {
  std::string set = "pir-n4096";
  std::string device = "cpu";
  std::string spread = "columns";
  std::string out;              ///< nothing is written when empty
  double gib = 1;               ///< of records
  std::uint32_t rows = 0;       ///< 0: chosen
  std::uint32_t batch = 1;      ///< queries that are answered together
  std::uint32_t clients = 8;    ///< that ask them, at most
  std::uint32_t group_mib = 0;  ///< of columns that are multiplied at once; 0: chosen
  unsigned threads = 1;         ///< of a CPU
  unsigned repetitions = 5;
  std::string fusion = "auto";  ///< of all levels
  std::string turn = "auto";    ///< where queries are turned
  std::string storage = "transformed";
  std::string policy = "resident";
  double memory_gib = 0;  ///< budget; 0: none
};

/// Values of `--fusion` beside `auto`.
inline const std::map<std::string, pir::fusion>& fusions() {
  static const std::map<std::string, pir::fusion> names{{"operation", pir::fusion::operation},
                                                        {"stage", pir::fusion::stage},
                                                        {"subtree", pir::fusion::subtree},
                                                        {"subtree_3", pir::fusion::subtree_3}};
  return names;
}

inline void declare(CLI::App& to, retrieval_arguments& read) {
  to.description("Stages of private retrieval: seconds of each, for one database and batch.");
  to.add_option("--set", read.set, "parameters: pir-n4096, pir-n2048 or paper")->capture_default_str();
  to.add_option("--device", read.device, "cpu or cuda:0, or two, four or eight such names with commas")
      ->capture_default_str();
  to.add_option("--spread", read.spread, "how several devices share the database")
      ->capture_default_str()
      ->check(CLI::IsMember({"columns", "replicas"}));
  to.add_option("--out", read.out, "file that gets the result as JSON");
  to.add_option("--gib", read.gib, "GiB of records")
      ->capture_default_str()
      ->check(CLI::Range(0.0001, 1024.0));
  to.add_option("--rows", read.rows, "rows of a column, a power of two; 0: by the cost model")
      ->capture_default_str();
  to.add_option("--batch", read.batch, "queries that are answered together")
      ->capture_default_str()
      ->check(CLI::Range(1U, 4096U));
  to.add_option("--clients", read.clients, "clients that ask them, at most")
      ->capture_default_str()
      ->check(CLI::Range(1U, 4096U));
  to.add_option("--group-mib", read.group_mib, "MiB of columns that are multiplied at once; 0: the default")
      ->capture_default_str()
      ->check(CLI::Range(0U, 65536U));
  to.add_option("--threads", read.threads, "of a CPU")->capture_default_str()->check(CLI::Range(1U, 1024U));
  to.add_option("--repetitions", read.repetitions,
                "of timed stages, and of whole batches, whose median counts")
      ->capture_default_str()
      ->check(CLI::Range(1U, 1000U));
  std::vector<std::string> names{"auto"};
  for (const auto& each : fusions()) names.push_back(each.first);
  to.add_option(
        "--fusion", read.fusion,
        "kernels of all levels: auto (the table), operation, stage, subtree or subtree_3 (two or three "
        "levels of selections at once, expansions as stage)")
      ->capture_default_str()
      ->check(CLI::IsMember(names));
  to.add_option(
        "--turn", read.turn,
        "queries are turned for the rows by the last level of a fused expansion (level) or in a pass of "
        "their own (pass); auto: by the table")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "level", "pass"}));
  to.add_option("--storage", read.storage, "how the database is kept: transformed or raw")
      ->capture_default_str()
      ->check(CLI::IsMember({"transformed", "raw"}));
  to.add_option("--policy", read.policy, "residency of buffers, for example planned")->capture_default_str();
  to.add_option("--memory-gib", read.memory_gib, "budget in GiB; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1024.0))
      ->check([](const std::string& text) -> std::string {
        const double value = std::strtod(text.c_str(), nullptr);
        return value == 0 || value * 0x1p30 >= 1 ? "" : "expected 0, or at least a byte, in GiB";
      });
}

}  // namespace halocline::bench

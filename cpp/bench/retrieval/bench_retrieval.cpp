// SPDX-License-Identifier: Apache-2.0
// halocline_retrieval_bench: seconds of the stages of private retrieval for one database and batch.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/core/json.hpp"
#include "halocline/core/version.hpp"
#include "halocline/pir/client.hpp"
#include "halocline/pir/group_server.hpp"
#include "halocline/pir/server.hpp"
#include "retrieval/arguments.hpp"

namespace {

using namespace halocline;
using bench::retrieval_arguments;

/// Records that need no memory: eight bytes at a time from their place (SplitMix64).
class made_up_records final : public pir::record_store {
 public:
  explicit made_up_records(std::uint64_t bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    for (std::size_t i = 0; i < out.size();) {
      const std::uint64_t at = offset + i, skipped = at % 8;
      const std::uint64_t word = mixed(at / 8) >> (8 * skipped);
      const std::size_t part = std::min<std::size_t>(8 - skipped, out.size() - i);
      std::memcpy(out.data() + i, &word, part);
      i += part;
    }
  }
  /// Records that are replaced get the bytes that they have.
  void write(std::uint64_t, std::span<const std::byte>) override {}

 private:
  static std::uint64_t mixed(std::uint64_t x) noexcept {
    x = (x + 1) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  std::uint64_t bytes_;
};

pir::geometry geometry_of(const retrieval_arguments& given) {
  const pir::parameters scheme = pir::preset(given.set, true);
  pir::layout_request request{
      .batch = given.batch,
      .rates = pir::rates_of(given.device.substr(0, given.device.find(',')), given.threads)};
  if (given.rows != 0) request.rows = given.rows;
  const bool shared = given.spread == "columns";  // each device has a part, and such a budget
  const auto devices = static_cast<double>(shared ? std::ranges::count(given.device, ',') + 1 : 1);
  request.memory_bytes = static_cast<std::size_t>(devices * given.memory_gib * 0x1p30);
  const std::uint64_t record = scheme.plaintext_bytes();
  const auto records = static_cast<std::uint64_t>(given.gib * 0x1p30) / record;
  return pir::make_geometry(scheme, std::max<std::uint64_t>(records, 1), record, request);
}

double total(const pir::stage_times& times) {
  return times.expansion + times.completion + times.rows + times.columns + times.answers;
}

json::object to_json(const pir::stage_times& times) {
  return {{"expansion", times.expansion}, {"completion", times.completion}, {"rows", times.rows},
          {"columns", times.columns},     {"answers", times.answers},       {"total", total(times)}};
}

backend::backend_options backend_of(const retrieval_arguments& given) {
  backend::backend_options made{.memory = {}, .threads = given.threads};
  made.memory.policy = given.policy;
  made.memory.budget_bytes = static_cast<std::size_t>(given.memory_gib * 0x1p30);
  return made;
}

pir::server_options options_of(const retrieval_arguments& given, const pir::geometry& shape) {
  pir::server_options made{.database = {.group_bytes = std::size_t{given.group_mib} << 20}};
  made.database.kept = given.storage == "raw" ? pir::storage::raw : pir::storage::transformed;
  if (given.fusion == "auto" && given.turn == "auto") return made;
  pir::fusion_choice chosen = pir::choose_fusion(shape, given.device, given.batch);
  if (given.fusion != "auto") {
    chosen.expansion = chosen.selection = {bench::fusions().at(given.fusion)};
  }
  if (given.turn != "auto") chosen.turned = given.turn == "level";
  made.fused = std::move(chosen);
  return made;
}

/// Clients of a server, and their batches of queries.
template <typename ServerT, typename KeysT>
class client_side {
 public:
  client_side(const retrieval_arguments& given, const pir::geometry& shape,
              std::shared_ptr<const made_up_records> records, ServerT& server)
      : given_(given), shape_(shape), records_(std::move(records)), server_(server) {
    for (std::uint32_t i = 0; i < std::min(given.batch, given.clients); ++i) {
      clients_.emplace_back(shape_);
      keys_.push_back(server_.load_keys(clients_.back().server_keys()));
    }
  }

  /// Seconds from queries to answers, on the host's clock. Answers are decoded and compared.
  double answer_batch(std::uint64_t number) {
    std::vector<std::vector<std::byte>> queries;
    std::vector<KeysT> keys;
    std::vector<std::uint64_t> wanted;
    for (std::uint32_t i = 0; i < given_.batch; ++i) {
      const std::size_t who = i % clients_.size();
      wanted.push_back((number * 7919 + i * 104729) % shape_.records);
      queries.push_back(clients_[who].query(wanted.back()));
      keys.push_back(keys_[who]);
    }
    const std::vector<std::span<const std::byte>> views(queries.begin(), queries.end());
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<std::vector<std::byte>> answers = server_.answer(keys, views);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    for (std::uint32_t i = 0; i < given_.batch; ++i) {
      std::vector<std::byte> expected(shape_.record_bytes);
      records_->read(wanted[i] * shape_.record_bytes, expected);
      HALOCLINE_EXPECTS(clients_[i % clients_.size()].decode(wanted[i], queries[i], answers[i]) == expected,
                        error, "a wrong answer to query ", i, " for record ", wanted[i]);
    }
    return seconds.count();
  }

  /// Seconds of whole batches, least first, behind one that is not timed. @param first number of a batch
  [[nodiscard]] std::vector<double> answer_batches(std::uint64_t first) {
    std::vector<double> seconds;
    for (unsigned i = 0; i <= given_.repetitions; ++i) {
      const double taken = answer_batch(first + i);
      if (i > 0) seconds.push_back(taken);
    }
    std::ranges::sort(seconds);
    return seconds;
  }

 private:
  const retrieval_arguments& given_;
  const pir::geometry& shape_;
  std::shared_ptr<const made_up_records> records_;
  ServerT& server_;
  std::vector<pir::client> clients_;
  std::vector<KeysT> keys_;
};

/// What is known of a run before it began, and its seconds.
json::object facts_of(const retrieval_arguments& given, const pir::geometry& shape, const std::string& device,
                      double median) {
  const double bytes = static_cast<double>(shape.records * shape.record_bytes);
  return {{"schema", 1},
          {"suite", "retrieval"},
          {"set", given.set},
          {"device", device},
          {"threads", given.threads},
          {"commit", std::string(commit())},
          {"gib", given.gib},
          {"batch", given.batch},
          {"group_mib", given.group_mib},
          {"fusion", given.fusion},
          {"turn", given.turn},
          {"storage", given.storage},
          {"policy", given.policy},
          {"memory_gib", given.memory_gib},
          {"rows", shape.at.rows},
          {"columns", shape.at.columns},
          {"digits", json::object{{"expansion", shape.at.expansion.digits},
                                  {"selection", shape.at.selection.digits},
                                  {"secret", shape.at.secret.digits}}},
          {"log2_failure", pir::forecast(shape.scheme, shape.at).log2_failure},
          {"median_seconds", median},
          {"queries_per_second", given.batch / median},
          {"record_bytes_per_second", given.batch * bytes / median}};
}

class bench_run {
 public:
  explicit bench_run(const retrieval_arguments& given)
      : given_(given),
        shape_(geometry_of(given)),
        records_(std::make_shared<made_up_records>(shape_.records * shape_.record_bytes)),
        server_(shape_, records_, backend::make_backend(given.device, backend_of(given)),
                options_of(given, shape_)),
        asking_(given, shape_, records_, server_) {
    server_.time_stages(true);
  }

  /// Stages are timed first, each with a wait for the device behind it, then whole batches without these
  /// waits.
  void measure() {
    for (unsigned i = 0; i <= given_.repetitions; ++i) {
      asking_.answer_batch(i);
      if (i > 0) runs_.push_back(server_.times());  // the first one makes tables
    }
    server_.time_stages(false);
    whole_ = asking_.answer_batches(given_.repetitions + 1);
    measure_records();
  }

  [[nodiscard]] json::object result() {
    const pir::stage_times& best = *std::ranges::min_element(runs_, {}, total);
    json::array runs;
    for (const pir::stage_times& each : runs_) runs.emplace_back(to_json(each));
    json::object made =
        facts_of(given_, shape_, server_.scope().device().describe().device, whole_[whole_.size() / 2]);
    made.emplace_back("best_seconds", to_json(best));
    made.emplace_back("peak_fast_bytes", server_.scope().runtime().statistics().peak_fast_bytes);
    made.emplace_back("replace_seconds", replaced_[replaced_.size() / 2]);
    made.emplace_back("runs", std::move(runs));
    if (!encoded_.empty())
      made.emplace_back(
          "encoded_bytes_per_second",
          static_cast<double>(shape_.records * shape_.record_bytes) / encoded_[encoded_.size() / 2]);
    return made;
  }

 private:
  /// Records replaced, and the whole database computed from its raw bytes, group by group.
  void measure_records() {
    const std::vector<std::byte> fresh(shape_.record_bytes);
    for (unsigned i = 0; i <= given_.repetitions; ++i) {
      const double seconds = timed([&] { server_.records().replace(i * 7919 % shape_.records, fresh); });
      if (i > 0) replaced_.push_back(seconds);
    }
    std::ranges::sort(replaced_);
    if (server_.records().kept() != pir::storage::raw) return;
    memory::buffer scratch;
    for (unsigned i = 0; i <= given_.repetitions; ++i) {
      const double seconds = timed([&] {
        for (const pir::column_group& group : server_.records().groups()) {
          (void)server_.records().points(group, scratch);
        }
      });
      if (i > 0) encoded_.push_back(seconds);
    }
    std::ranges::sort(encoded_);
  }

  /// Seconds of something that the device has finished.
  template <typename BodyT>
  double timed(const BodyT& body) {
    server_.scope().device().wait();
    const auto begin = std::chrono::steady_clock::now();
    body();
    server_.scope().device().wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  const retrieval_arguments& given_;
  pir::geometry shape_;
  std::shared_ptr<made_up_records> records_;
  pir::server server_;
  client_side<pir::server, std::shared_ptr<const pir::server_keys>> asking_;
  std::vector<pir::stage_times> runs_;
  std::vector<double> whole_, replaced_, encoded_;  ///< seconds, least first
};

std::vector<std::shared_ptr<backend::backend>> backends_of(const retrieval_arguments& given) {
  std::vector<std::shared_ptr<backend::backend>> made;
  for (std::size_t at = 0; at <= given.device.size();) {
    const std::size_t end = std::min(given.device.find(',', at), given.device.size());
    made.push_back(backend::make_backend(given.device.substr(at, end - at), backend_of(given)));
    at = end + 1;
  }
  return made;
}

/// Whole batches by several devices, whose stages overlap.
json::object run_group(const retrieval_arguments& given) {
  const pir::geometry shape = geometry_of(given);
  const auto records = std::make_shared<made_up_records>(shape.records * shape.record_bytes);
  const std::vector<std::shared_ptr<backend::backend>> devices = backends_of(given);
  pir::group_server server(shape, records, devices,
                           given.spread == "replicas" ? pir::spread::replicas : pir::spread::columns,
                           options_of(given, shape));
  client_side<pir::group_server, std::shared_ptr<pir::group_keys>> asking(given, shape, records, server);
  const std::vector<double> seconds = asking.answer_batches(0);
  json::object made = facts_of(given, shape, text(devices.size(), " x ", devices[0]->describe().device),
                               seconds[seconds.size() / 2]);
  made.emplace_back("spread", given.spread);
  made.emplace_back("link", std::string(server.link()));
  std::size_t peak = 0;
  for (const auto& each : devices) peak = std::max(peak, each->runtime().statistics().peak_fast_bytes);
  made.emplace_back("peak_fast_bytes", peak);
  return made;
}

json::object run_one(const retrieval_arguments& given) {
  bench_run run(given);
  run.measure();
  return run.result();
}

}  // namespace

int main(int count, char** values) {
  retrieval_arguments given;
  CLI::App program;
  bench::declare(program, given);
  CLI11_PARSE(program, count, values);
  try {
    const bool several = given.device.find(',') != std::string::npos;
    const std::string result = json::write(several ? run_group(given) : run_one(given), 2);
    std::printf("%s\n", result.c_str());
    if (!given.out.empty()) std::ofstream(given.out) << result << "\n";
  } catch (const std::exception& failure) {
    std::cerr << "halocline_retrieval_bench: " << failure.what() << "\n";
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

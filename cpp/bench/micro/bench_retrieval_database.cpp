// SPDX-License-Identifier: Apache-2.0
// Databases of private retrieval with the set pir-n4096 and 1 KiB records: a group of 64 MiB is built from
// records, computed from its bytes for a batch (raw storage), and a record of it replaced. Bytes are those of
// records. The store makes them up, so that no disk is measured.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/pir/database.hpp"

namespace {

using namespace halocline;

constexpr std::uint64_t record_bytes = 1024;
constexpr std::uint64_t records = std::uint64_t{1} << 20;

class made_up_records final : public pir::record_store {
 public:
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return records * record_bytes; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::ranges::fill(out, static_cast<std::byte>(offset * 37 + 11));
  }
  void write(std::uint64_t, std::span<const std::byte>) override {}
};

/// A database of one group.
struct rig {
  rig(unsigned threads, pir::storage kept)
      : ctx(pir::make_geometry(pir::preset("pir-n4096"), records, record_bytes), device(threads)) {
    const pir::geometry& shape = ctx.shape();
    const std::size_t column = shape.at.rows * ctx.polynomial_bytes();
    options.kept = kept;
    options.columns = static_cast<std::uint32_t>(std::max<std::size_t>(1, options.group_bytes / column));
    bytes = options.columns * shape.at.rows * shape.group_bytes();
  }
  static std::shared_ptr<backend::backend> device(unsigned threads) {
    backend::backend_options made;
    made.threads = threads;
    return backend::make_backend("cpu", made);
  }

  pir::context ctx;
  std::shared_ptr<pir::record_store> store = std::make_shared<made_up_records>();
  pir::database_options options;
  std::uint64_t bytes = 0;
};

void build(benchmark::State& state, unsigned threads) {
  rig with(threads, pir::storage::transformed);
  for (auto _ : state) {
    const pir::database made(with.ctx, with.store, with.options);
    benchmark::DoNotOptimize(made.groups().data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * with.bytes));
}

void points_of_raw(benchmark::State& state, unsigned threads) {
  rig with(threads, pir::storage::raw);
  pir::database data(with.ctx, with.store, with.options);
  memory::buffer scratch;
  for (auto _ : state) benchmark::DoNotOptimize(data.points(data.groups()[0], scratch));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * with.bytes));
}

void replace(benchmark::State& state, unsigned threads, pir::storage kept) {
  rig with(threads, kept);
  pir::database data(with.ctx, with.store, with.options);
  const std::vector<std::byte> fresh(record_bytes, std::byte{1});
  std::uint64_t record = 0;
  for (auto _ : state) {
    data.replace(record, fresh);
    record = (record + 977) % (with.bytes / record_bytes / 2);
  }
}

const bool registered = [] {
  for (const unsigned threads : {1U, 2U}) {
    const std::string ending = threads == 1 ? "/1_thread" : "/2_threads";
    const auto add = [&](const std::string& name, auto body) {
      benchmark::RegisterBenchmark(("retrieval_database/" + name + ending).c_str(), body)->UseRealTime();
    };
    add("build", [=](benchmark::State& state) { build(state, threads); });
    add("points_of_raw", [=](benchmark::State& state) { points_of_raw(state, threads); });
    add("replace", [=](benchmark::State& state) { replace(state, threads, pir::storage::transformed); });
    add("replace_raw", [=](benchmark::State& state) { replace(state, threads, pir::storage::raw); });
  }
  return true;
}();

}  // namespace

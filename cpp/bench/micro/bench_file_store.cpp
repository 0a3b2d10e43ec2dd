// SPDX-License-Identifier: Apache-2.0
// Transfers of a file store, 3.25 MiB each (one half of a key's digit at n15-d14): by engine, by transfers
// under way at once, in the order of the file and at random; and by chunk size. Direct I/O: the disk, not the
// page cache.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "halocline/memory/tier/arena_tier.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "halocline/memory/tier/link_speed.hpp"

namespace {

using namespace halocline::memory;

constexpr std::size_t transfer_bytes = 13 * (std::size_t{1} << 18);
constexpr std::size_t slot_count = 128;

enum class what { read_in_order, read_at_random, write_in_order };

/// A store with slots that have been written, and frames for the transfers under way.
class store_rig {
 public:
  store_rig(io_engine engine, std::size_t chunk_bytes, std::size_t under_way)
      : frames_(make_arena_tier(0)), place_(make_file_store(options_of(engine, chunk_bytes))) {
    for (std::size_t i = 0; i < under_way; ++i) {
      places_.push_back({static_cast<std::byte*>(frames_->allocate(transfer_bytes)), 0, false});
    }
    for (std::size_t i = 0; i < slot_count; ++i) slots_.push_back(place_->allocate(transfer_bytes));
    for (std::size_t i = 0; i < slot_count; ++i) start(i, what::write_in_order);
    finish();
  }
  ~store_rig() {
    finish();
    for (const place& each : places_) frames_->free(each.frame, transfer_bytes);
  }
  store_rig(const store_rig&) = delete;
  store_rig& operator=(const store_rig&) = delete;

  /// Starts transfer number `i`, as soon as the one that began `under_way` transfers before has ended.
  void start(std::size_t i, what action) {
    place& next = places_[i % places_.size()];
    if (next.busy) place_->wait(next.transfer);
    const slot_id slot = slots_[action == what::read_at_random ? random_() % slot_count : i % slot_count];
    next.transfer = action == what::write_in_order ? place_->write(slot, next.frame, transfer_bytes)
                                                   : place_->read(slot, next.frame, transfer_bytes);
    next.busy = true;
  }

 private:
  struct place {
    std::byte* frame;
    transfer_id transfer;
    bool busy;
  };

  static file_store_options options_of(io_engine engine, std::size_t chunk_bytes) {
    file_store_options options;
    options.engine = engine;
    options.chunk_bytes = chunk_bytes;
    return options;
  }

  void finish() {
    for (place& each : places_) {
      if (each.busy) place_->wait(each.transfer);
      each.busy = false;
    }
  }

  std::unique_ptr<tier> frames_;
  std::unique_ptr<store> place_;
  std::vector<place> places_;
  std::vector<slot_id> slots_;
  std::mt19937 random_{1};
};

void transfer(benchmark::State& state, io_engine engine, what action, std::size_t under_way,
              std::size_t chunk_bytes) {
  if (engine == io_engine::io_uring && !has_io_uring()) {
    state.SkipWithError("no io_uring on this machine");
    return;
  }
  store_rig rig(engine, chunk_bytes, under_way);
  std::size_t i = 0;
  for (auto _ : state) rig.start(i++, action);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * transfer_bytes));
}

void measure(benchmark::State& state) {
  const auto place = make_file_store();
  link_speed speed;
  for (auto _ : state) speed = measure_link(*place);
  state.counters["read_GB_per_s"] = speed.read_bytes_per_second * 1e-9;
  state.counters["write_GB_per_s"] = speed.write_bytes_per_second * 1e-9;
  state.counters["read_latency_us"] = static_cast<double>(speed.read_latency_ns) * 1e-3;
}

const bool registered = [] {
  const auto add = [](io_engine engine, const std::string& name, what action, std::size_t under_way,
                      std::size_t chunk_bytes) {
    const std::string full =
        "file_store/" + name + (engine == io_engine::threads ? "/threads" : "/io_uring") +
        "/under_way:" + std::to_string(under_way) + "/chunk_KiB:" + std::to_string(chunk_bytes >> 10);
    benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& state) {
      transfer(state, engine, action, under_way, chunk_bytes);
    })->UseRealTime();
  };
  const std::size_t usual = file_store_options().chunk_bytes;
  for (const io_engine engine : {io_engine::io_uring, io_engine::threads}) {
    for (const std::size_t under_way : {1, 4, 16}) {
      add(engine, "read_in_order", what::read_in_order, under_way, usual);
      add(engine, "read_at_random", what::read_at_random, under_way, usual);
      add(engine, "write_in_order", what::write_in_order, under_way, usual);
    }
    for (const std::size_t kib : {256, 512, 2048, 4096}) {
      add(engine, "read_at_random", what::read_at_random, 4, kib << 10);
    }
  }
  benchmark::RegisterBenchmark("file_store/measure_link", measure)->UseRealTime();
  return true;
}();

}  // namespace

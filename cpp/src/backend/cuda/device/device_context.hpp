// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "backend/cuda/device/cuda_api.hpp"

namespace halocline::backend::cuda {

class launch_observer;

/// One card as one backend uses it: streams of its own, so that engines on one card do not order each other's
/// work. Not thread-safe, but any thread may use it (one at a time).
class device_context {
 public:
  /// Opens card `ordinal`.
  /// @throws device_error when there is no driver, no such card, or a card older than compute capability 8.0
  [[nodiscard]] static std::shared_ptr<device_context> open(int ordinal);
  ~device_context();
  device_context(const device_context&) = delete;
  device_context& operator=(const device_context&) = delete;

  /// Makes the card current in the calling thread.
  /// @throws device_error in a process that was forked off after the card was opened
  void make_current() const;
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] const cudaDeviceProp& properties() const noexcept { return properties_; }
  /// 90 for compute capability 9.0: selects tuning rows.
  [[nodiscard]] int architecture() const noexcept { return 10 * properties_.major + properties_.minor; }
  [[nodiscard]] int multiprocessors() const noexcept { return properties_.multiProcessorCount; }
  /// Where all operations run.
  [[nodiscard]] cudaStream_t compute() const noexcept { return compute_.get(); }
  /// Copies from the host.
  [[nodiscard]] cudaStream_t load() const noexcept { return load_.get(); }
  /// Copies to the host.
  [[nodiscard]] cudaStream_t save() const noexcept { return save_.get(); }
  /// Words by which blocks of one kernel wait for each other: `counters` of them, zero whenever no kernel
  /// runs. Kernels of the compute stream use them one after the other.
  [[nodiscard]] std::uint32_t* zeroed_counters() const noexcept { return counters_.get(); }
  static constexpr std::uint32_t counters = 4096;
  /// Blocks until everything on the compute stream is done, deferred launches included.
  void wait() const;
  /// Whether kernels are deferred at present, to be launched as one graph. Blocks that are freed meanwhile
  /// may still be used by kernels that have not been launched: keep them (`graph::deferred_blocks`), reuse
  /// them if possible, and call `flush` before they are freed to the driver.
  [[nodiscard]] bool is_recording() const noexcept;
  /// Launches the deferred kernels. Call it before anything but `launcher` puts work on the compute stream,
  /// records an event there or frees memory.
  /// @throws device_error naming the operation whose launch fails
  void flush() const;
  /// The same where nothing may be thrown; the next operation throws instead.
  void flush_quietly() const noexcept;

  /// Whether this is the first call for a kernel on this card: what holds for all its launches is set then.
  [[nodiscard]] bool is_new(const void* kernel) { return known_.insert(kernel).second; }

  /// Sets the observer of every later kernel launch; nullptr: none.
  void observe(launch_observer* observer) noexcept { observer_ = observer; }
  [[nodiscard]] launch_observer* observer() const noexcept { return observer_; }

 private:
  explicit device_context(int ordinal);

  int ordinal_;
  std::uint64_t process_;  ///< that opened the card
  cudaDeviceProp properties_{};
  std::unordered_set<const void*> known_;
  stream compute_;
  stream load_;
  stream save_;
  std::unique_ptr<std::uint32_t, void (*)(std::uint32_t*)> counters_;
  std::atomic<launch_observer*> observer_ = nullptr;  ///< any thread may free memory and read it
};

/// Names of the cards that can be opened: "cuda:0", ... Empty without a driver.
[[nodiscard]] std::vector<std::string> device_names();

}  // namespace halocline::backend::cuda

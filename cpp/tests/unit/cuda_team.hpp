// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace halocline::test {

/// All threads of a block, on the host: pieces of work between barriers run one thread after the other. See
/// backend/cuda/retrieval/block_team.cuh.
class host_team {
 public:
  template <typename T>
  class state {
   public:
    explicit state(const host_team& team) : all_(team.threads_) {}
    [[nodiscard]] T& operator[](std::uint32_t thread) { return all_.at(thread); }

   private:
    std::vector<T> all_;
  };

  explicit host_team(std::uint32_t threads) : threads_(threads) {}

  /// In an order that changes from piece to piece, so that threads of a piece which depend on each other are
  /// found.
  template <typename WorkT>
  void each(const WorkT& work) const {
    backwards_ = !backwards_;
    for (std::uint32_t t = 0; t < threads_; ++t) work(backwards_ ? threads_ - 1 - t : t);
  }
  void barrier() const {}

 private:
  std::uint32_t threads_;
  mutable bool backwards_ = false;
};

}  // namespace halocline::test

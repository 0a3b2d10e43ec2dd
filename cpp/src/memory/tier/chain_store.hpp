// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "halocline/memory/tier/chain_store.hpp"
#include "memory/tier/transfer_threads.hpp"

namespace halocline::memory {

/// See `make_chain_store`.
class chain_store final : public store {
 public:
  explicit chain_store(const chain_options& options);
  ~chain_store() override;
  chain_store(const chain_store&) = delete;
  chain_store& operator=(const chain_store&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] slot_id allocate(std::size_t bytes) override;
  void free(slot_id id) noexcept override;
  [[nodiscard]] transfer_id read_from(slot_id id, std::size_t offset, std::byte* frame,
                                      std::size_t bytes) override;
  [[nodiscard]] transfer_id write(slot_id id, const std::byte* frame, std::size_t bytes) override;
  [[nodiscard]] bool poll(transfer_id id) override;
  void wait(transfer_id id) override;
  void trim() noexcept override;
  [[nodiscard]] store_stats statistics() const override;
  [[nodiscard]] bool adopts() const noexcept override { return true; }
  [[nodiscard]] slot_id adopt(std::shared_ptr<const remote_contents> contents, std::size_t bytes) override;
  void forget_copies(slot_id id) override;
  [[nodiscard]] bool is_renewable(slot_id id) const noexcept override;
  [[nodiscard]] std::vector<std::uint64_t> copies_of(slot_id id) const override;
  [[nodiscard]] std::vector<link_stats> links() const override;

 private:
  enum class tier : std::uint8_t { memory, file, remote };
  /// Pages of host memory.
  struct block {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool is_staged = false;  ///< only until it is in the file: no part of the tier in memory
  };
  struct slot {
    std::size_t bytes = 0;
    std::shared_ptr<const remote_contents> remote{};
    block held{};            ///< the first bytes of its contents
    unsigned held_uses = 0;  ///< transfers that use it
    std::list<slot_id>::iterator order{};
    slot_id below = no_slot;                ///< in the file
    std::size_t below_bytes = 0;            ///< of its contents there
    unsigned below_uses = 0;                ///< transfers that use it
    std::list<slot_id>::iterator copied{};  ///< in `copies_`, while it has both `remote` and `below`
    std::optional<transfer_id> sinking{};   ///< `held` is being copied to the file
  };
  struct transfer {
    tier from = tier::memory;
    bool write = false;
    slot_id of = no_slot;
    transfer_id below = 0;  ///< number in the file
    std::byte* frame = nullptr;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    block kept{};  ///< where the transfer leaves a copy
  };

  [[nodiscard]] slot& at(slot_id id);
  void check_part(const slot& of, std::size_t offset, std::size_t bytes, const std::byte* frame) const;
  [[nodiscard]] tier source_of(const slot& of, std::size_t end) const noexcept;
  [[nodiscard]] bool has_memory() const noexcept { return options_.memory_bytes != 0; }
  [[nodiscard]] transfer_id add(const transfer& started);

  void give_place(slot_id id, slot& of);
  [[nodiscard]] slot_id take_below(std::size_t bytes);
  void drop_below(slot& of) noexcept;
  void note_copy(slot_id id, slot& of);
  [[nodiscard]] block take_block(std::size_t bytes, bool staged);
  void drop_block(block& gone) noexcept;
  void drop_held(slot& of) noexcept;
  void hold(slot_id id, slot& of, const block& made);
  [[nodiscard]] bool make_room(std::size_t bytes);
  [[nodiscard]] bool make_staging_room(std::size_t bytes);
  [[nodiscard]] bool leave_memory(slot_id id);
  void start_sinking(slot_id id, slot& of);
  void finish_sinking(slot_id id);
  void reap_sinking();

  [[nodiscard]] block prepare_copy(slot_id id, std::size_t offset, std::size_t bytes);
  void start_remote(transfer_id id, transfer& of, const slot& from);
  void end_read(transfer& ended);
  void read_again(transfer& of);
  void keep_copy(transfer& ended);

  chain_options options_;
  std::unordered_map<slot_id, slot> slots_;
  std::unordered_map<transfer_id, transfer> transfers_;
  std::list<slot_id> order_;     ///< with a block in memory, least recently used first
  std::list<slot_id> copies_;    ///< copies of remote contents in the file, likewise
  std::deque<slot_id> sinking_;  ///< oldest first
  std::size_t memory_used_ = 0;  ///< by blocks of the tier
  std::size_t staged_used_ = 0;  ///< by other blocks
  slot_id next_slot_ = 0;
  transfer_id next_transfer_ = 0;
  store_stats stats_;               ///< of slots, and of writes to memory
  std::uint64_t copied_bytes_ = 0;  ///< of remote contents, in the file
  transfer_threads copies_in_memory_{1};
  transfer_threads writes_to_memory_{1};
  transfer_threads remote_;
};

}  // namespace halocline::memory

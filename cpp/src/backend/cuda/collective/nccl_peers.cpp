// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/collective/nccl_peers.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "backend/cuda/collective/nccl_api.hpp"
#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/device/device_context.hpp"

namespace halocline::backend::cuda {
namespace {

/// A card of a group, with a stream for its copies.
struct joined_card {
  std::shared_ptr<device_context> device;
  nccl_api::communicator communicator = nullptr;
  std::unique_ptr<stream> copies;
  std::unique_ptr<event> mark;
};

/// Cards joined by NCCL. Bytes go by sends and receives between two cards, grouped, so that NCCL runs them at
/// the same time. Streams of their own let operations go on meanwhile; the host waits for nothing.
class nccl_peers final : public peers {
 public:
  explicit nccl_peers(std::vector<std::shared_ptr<backend>> members)
      : peers(std::move(members)), api_(nccl()) {
    std::vector<int> ordinals;
    for (std::size_t i = 0; i < size(); ++i) {
      joined_card& card = cards_.emplace_back();
      card.device = device_of(member(i));
      card.device->make_current();
      card.copies = std::make_unique<stream>();
      card.mark = std::make_unique<event>();
      ordinals.push_back(card.device->ordinal());
    }
    std::vector<nccl_api::communicator> made(size());
    api_.check(api_.comm_init_all(made.data(), static_cast<int>(size()), ordinals.data()),
               "joining the cards");
    for (std::size_t i = 0; i < size(); ++i) cards_[i].communicator = made[i];
  }
  ~nccl_peers() override {
    for (const joined_card& card : cards_) {
      // What fails here has failed before, where it could be reported.
      (void)cudaSetDevice(card.device->ordinal());
      (void)cudaStreamSynchronize(card.copies->get());
      if (card.communicator != nullptr) (void)api_.comm_destroy(card.communicator);
    }
  }

  [[nodiscard]] std::string_view link() const noexcept override { return "nccl"; }

  void finish() override {
    for (const joined_card& card : cards_) {
      card.device->make_current();
      card.mark->record(card.copies->get());
      card.mark->block(card.device->compute());
    }
    under_way_.clear();
  }

 protected:
  void run(std::span<const peer_copy> copies) override {
    std::vector<memory::access> at = acquire(copies);
    for (const joined_card& card : cards_) {
      card.device->make_current();
      card.device->flush();
      card.mark->record(card.device->compute());
      card.mark->block(card.copies->get());
    }
    api_.check(api_.group_start(), "group");
    int failed = 0;
    for (const peer_copy& each : copies) {
      failed = std::max(failed, send(each, at));
      failed = std::max(failed, receive(each, at));
    }
    api_.check(std::max(failed, api_.group_end()), "copies between cards");
    for (memory::access& each : at) under_way_.push_back(std::move(each));
  }

 private:
  [[nodiscard]] int send(const peer_copy& each, std::span<const memory::access> at) const {
    const joined_card& card = cards_[each.from];
    card.device->make_current();
    return api_.send(at[each.from].pointer(*each.src, each.src_offset), each.bytes, nccl_api::bytes_type,
                     static_cast<int>(each.to), card.communicator, card.copies->get());
  }
  [[nodiscard]] int receive(const peer_copy& each, std::span<const memory::access> at) const {
    const joined_card& card = cards_[each.to];
    card.device->make_current();
    return api_.receive(at[each.to].pointer(*each.dst, each.dst_offset), each.bytes, nccl_api::bytes_type,
                        static_cast<int>(each.from), card.communicator, card.copies->get());
  }

  const nccl_api& api_;
  std::vector<joined_card> cards_;
  std::vector<memory::access> under_way_;  ///< keeps the buffers of copies in their places
};

}  // namespace

bool are_different_cards(std::span<const std::shared_ptr<backend>> members) {
  std::set<int> ordinals;
  for (const auto& each : members) {
    const std::shared_ptr<device_context> device = device_of(*each);
    if (device == nullptr || !ordinals.insert(device->ordinal()).second) return false;
  }
  return true;
}

std::unique_ptr<peers> make_nccl_peers(std::vector<std::shared_ptr<backend>> members) {
  return std::make_unique<nccl_peers>(std::move(members));
}

}  // namespace halocline::backend::cuda

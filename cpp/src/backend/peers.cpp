// SPDX-License-Identifier: Apache-2.0
#include "halocline/backend/peers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "halocline/core/expects.hpp"
#if defined(HALOCLINE_HAS_CUDA)
#include "backend/cuda/collective/nccl_peers.hpp"
#endif

namespace halocline::backend {
namespace {

constexpr std::string_view op = "peer_copy";

/// Through host memory, piece by piece.
class host_peers final : public peers {
 public:
  explicit host_peers(std::vector<std::shared_ptr<backend>> members) : peers(std::move(members)) {}
  [[nodiscard]] std::string_view link() const noexcept override { return "host"; }

 protected:
  void run(std::span<const peer_copy> copies) override {
    constexpr std::size_t piece = std::size_t{4} << 20;
    for (const peer_copy& each : copies) {
      std::vector<std::byte> staging(std::min(piece, each.bytes));
      for (std::size_t done = 0; done < each.bytes; done += piece) {
        const std::span<std::byte> part(staging.data(), std::min(piece, each.bytes - done));
        member(each.from).download(part, *each.src, each.src_offset + done);
        member(each.to).upload(*each.dst, each.dst_offset + done, part);
      }
    }
  }
};

}  // namespace

peers::peers(std::vector<std::shared_ptr<backend>> members) : members_(std::move(members)) {}
peers::~peers() = default;

void peers::begin(std::span<const peer_copy> copies) {
  if (copies.empty()) return;
  for (const peer_copy& each : copies) {
    HALOCLINE_EXPECTS(each.from < size() && each.to < size() && each.from != each.to, invalid_argument,
                      "peers: a copy from member ", each.from, " to member ", each.to, " of ", size(),
                      "; expected two different ones");
  }
  run(copies);
}

std::vector<memory::access> peers::acquire(std::span<const peer_copy> copies) const {
  std::vector<memory::access> at;
  at.reserve(size());
  for (std::uint32_t member = 0; member < size(); ++member) {
    std::vector<memory::operand> reads, writes;
    for (const peer_copy& each : copies) {
      if (each.from == member) reads.push_back({each.src, each.src_offset, each.bytes});
      if (each.to == member) writes.push_back({each.dst, each.dst_offset, each.bytes});
    }
    at.push_back(members_[member]->runtime().acquire(reads, writes, op));
  }
  return at;
}

std::unique_ptr<peers> make_peers(std::vector<std::shared_ptr<backend>> members) {
  HALOCLINE_EXPECTS(!members.empty(), invalid_argument, "peers: no backends; expected at least one");
  for (std::size_t i = 0; i < members.size(); ++i) {
    HALOCLINE_EXPECTS(std::count(members.begin(), members.end(), members[i]) == 1, invalid_argument,
                      "peers: backend ", i, " is given twice; expected different ones");
  }
#if defined(HALOCLINE_HAS_CUDA)
  if (members.size() > 1 && cuda::are_different_cards(members))
    return cuda::make_nccl_peers(std::move(members));
#endif
  return std::make_unique<host_peers>(std::move(members));
}

}  // namespace halocline::backend

// SPDX-License-Identifier: Apache-2.0
#include "memory/tier/transfer_board.hpp"

#include <chrono>

namespace halocline::memory {
namespace {

std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

void transfer_board::begin(transfer_id id, bool write, std::size_t requests) {
  const std::lock_guard lock(mutex_);
  transfers_.emplace(id, progress{write, requests, {}});
  traffic& direction = traffic_[write ? 1 : 0];
  if (direction.transfers++ == 0) direction.since_ns = now_ns();
}

void transfer_board::cancel(transfer_id id) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return;
  leave(found->second.write);
  transfers_.erase(found);
}

bool transfer_board::has_ended(transfer_id id) const {
  const std::lock_guard lock(mutex_);
  const auto found = transfers_.find(id);
  return found == transfers_.end() || found->second.requests_left == 0;
}

transfer_board::outcome transfer_board::wait(transfer_id id) {
  std::unique_lock lock(mutex_);
  const progress& transfer = transfers_.find(id)->second;  // stays where it is when others come
  ended_.wait(lock, [&] { return transfer.requests_left == 0; });
  const outcome result = transfer.so_far;
  transfers_.erase(id);
  return result;
}

std::uint64_t transfer_board::busy_ns(bool write) const {
  const std::lock_guard lock(mutex_);
  const traffic& direction = traffic_[write ? 1 : 0];
  return direction.busy_ns + (direction.transfers == 0 ? 0 : now_ns() - direction.since_ns);
}

transfer_board::outcome transfer_board::look_at(const io_request& request, std::size_t moved,
                                                int error) const noexcept {
  outcome result{moved, error, request.offset + moved};
  if (error != 0) return result;
  if (request.write) {
    checksums_.note(request.data, request.bytes, request.checksums);
  } else if (const auto wrong = checksums_.first_wrong(request.data, request.bytes, request.checksums)) {
    result = {moved, wrong_bytes, request.offset + *wrong};
  }
  return result;
}

void transfer_board::ended(const io_request& request, std::size_t moved, int error) noexcept {
  const outcome seen = look_at(request, moved, error);
  const std::lock_guard lock(mutex_);
  progress& transfer = transfers_.find(request.tag)->second;
  transfer.so_far.moved += moved;
  if (transfer.so_far.error == 0) {
    transfer.so_far.error = seen.error;
    transfer.so_far.at = seen.at;
  }
  if (--transfer.requests_left > 0) return;
  leave(transfer.write);
  ended_.notify_all();
}

void transfer_board::leave(bool write) noexcept {
  traffic& direction = traffic_[write ? 1 : 0];
  if (--direction.transfers == 0) direction.busy_ns += now_ns() - direction.since_ns;
}

}  // namespace halocline::memory

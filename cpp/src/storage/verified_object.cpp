// SPDX-License-Identifier: Apache-2.0
#include "verified_object.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "halocline/core/expects.hpp"

namespace halocline::storage {
namespace {

/// A shorter request costs more than it gains.
constexpr std::uint64_t least_part = 16 * manifest::block_bytes;
/// Bytes that `check_all` holds.
constexpr std::uint64_t check_window = std::uint64_t{64} << 20;

/// Blocks that are compared at once: a multiple of what SIMD lanes compute, and still in a cache.
constexpr std::size_t unit_bytes = 16 * manifest::block_bytes;

/// Compares units in threads while others are received. Units come in while it lives; `finish` waits for all.
class check_queue {
 public:
  using checker = std::function<bool(const range_read&)>;

  check_queue(std::span<const range_read> parts, checker check)
      : check_(std::move(check)), parts_(parts), queued_(parts.size()), wrong_(parts.size()) {
    std::size_t units = 0;
    for (const range_read& each : parts) units += (each.dst.size() + unit_bytes - 1) / unit_bytes;
    // One processor is left to the thread that receives.
    const std::size_t most = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 5) - 1;
    for (std::size_t i = 0; i < std::min(most, units - 1); ++i) threads_.emplace_back([this] { work(); });
  }
  ~check_queue() { finish(); }
  check_queue(const check_queue&) = delete;
  check_queue& operator=(const check_queue&) = delete;

  /// The first `bytes` of a part are there.
  void add(std::size_t part, std::size_t bytes) {
    const range_read& whole = parts_[part];
    while (queued_[part] < bytes) {
      const std::size_t at = queued_[part];
      const std::size_t size = std::min(unit_bytes, whole.dst.size() - at);
      if (at + size > bytes) return;  // the rest of the unit is on its way
      queued_[part] += size;
      put({part, {whole.offset + at, whole.dst.subspan(at, size)}});
    }
  }
  void finish() {
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
      changed_.notify_all();
    }
    threads_.clear();  // joins
  }
  /// Parts that are not as they should be, after `finish`.
  [[nodiscard]] std::vector<range_read> wrong() const {
    std::vector<range_read> out;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (wrong_[i]) out.push_back(parts_[i]);
    }
    return out;
  }

 private:
  struct unit {
    std::size_t part;
    range_read bytes;
  };

  void put(const unit& next) {
    if (threads_.empty()) {  // a lone unit has nothing to overlap with
      wrong_[next.part] = !check_(next.bytes);
      return;
    }
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(next);
    changed_.notify_one();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const unit next = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      const bool is_right = check_(next.bytes);
      lock.lock();
      if (!is_right) wrong_[next.part] = true;
    }
  }

  checker check_;
  std::span<const range_read> parts_;
  std::vector<std::size_t> queued_;  ///< bytes of each part; of the receiving thread
  std::vector<bool> wrong_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<unit> waiting_;
  bool closed_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace

verified_object::verified_object(std::shared_ptr<object_store> objects, manifest of,
                                 const store_options& options)
    : objects_(std::move(objects)),
      of_(std::move(of)),
      digest_(of_),
      object_(of_.user + '/' + of_.object_name()),
      part_bytes_(options.part_bytes / manifest::block_bytes * manifest::block_bytes),
      connections_(options.connections),
      ahead_([this](std::span<const range_read> parts, const std::stop_token& stop) { fetch(parts, stop); }) {
}

std::string verified_object::name() const {
  const std::string url = objects_->url();
  return text('\'', url, url.ends_with('/') ? "" : "/", object_, '\'');
}

io::byte_range verified_object::whole_blocks(const io::byte_range& part) const {
  HALOCLINE_EXPECTS(part.offset <= of_.bytes && part.bytes <= of_.bytes - part.offset, invalid_argument,
                    "cannot read bytes [", part.offset, ", ", part.offset + part.bytes, ") of ", name(),
                    ": it has ", of_.bytes);
  const std::uint64_t begin = part.offset / manifest::block_bytes * manifest::block_bytes;
  const std::uint64_t last = part.offset + part.bytes + manifest::block_bytes - 1;
  return {begin, std::min(of_.bytes, last / manifest::block_bytes * manifest::block_bytes) - begin};
}

bool verified_object::is_right(const range_read& part) const noexcept {
  constexpr std::size_t most = 16;
  std::array<digest256, most> got;
  auto expected = of_.blocks.begin() + static_cast<std::ptrdiff_t>(part.offset / manifest::block_bytes);
  for (std::span<const std::byte> rest = part.dst; !rest.empty();) {
    const auto content = rest.first(std::min<std::size_t>(most * manifest::block_bytes, rest.size()));
    const std::size_t count = (content.size() + manifest::block_bytes - 1) / manifest::block_bytes;
    digest_(content, std::span(got).first(count));
    if (!std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(count), expected)) return false;
    expected += static_cast<std::ptrdiff_t>(count);
    rest = rest.subspan(content.size());
  }
  return true;
}

std::vector<range_read> verified_object::split(std::span<const range_read> parts) const {
  std::uint64_t total = 0;
  for (const range_read& each : parts) total += each.dst.size();
  // Blocks in multiples of what SIMD lanes compute at once.
  const std::uint64_t share = (total / (2 * connections_) / least_part + 1) * least_part;
  const std::size_t most = std::min<std::size_t>(part_bytes_, share);
  std::vector<range_read> out;
  for (range_read rest : parts) {
    while (!rest.dst.empty()) {
      const std::size_t bytes = std::min(most, rest.dst.size());
      out.push_back({rest.offset, rest.dst.first(bytes)});
      rest = {rest.offset + bytes, rest.dst.subspan(bytes)};
    }
  }
  return out;
}

std::vector<range_read> verified_object::fetch_once(std::span<const range_read> parts,
                                                    const std::stop_token& stop) const {
  if (parts.empty()) return {};
  check_queue checks(parts, [&](const range_read& unit) { return is_right(unit); });
  objects_->read(
      object_, of_.bytes, parts, [&](std::size_t part, std::size_t bytes) { checks.add(part, bytes); }, stop);
  checks.finish();
  return checks.wrong();
}

void verified_object::fetch(std::span<const range_read> parts, const std::stop_token& stop) const {
  const std::vector<range_read> again = fetch_once(split(parts), stop);
  const std::vector<range_read> wrong = fetch_once(again, stop);
  HALOCLINE_EXPECTS(wrong.empty(), corrupt_data, name(), " is corrupt: ", wrong.front().dst.size(),
                    " bytes at ", wrong.front().offset,
                    " do not match the manifest of the keys; put the keys again");
}

void verified_object::read(std::uint64_t offset, std::span<std::byte> dst) const {
  if (dst.empty()) return;
  if (ahead_.copy(offset, dst)) return;
  const io::byte_range blocks = whole_blocks({offset, dst.size()});
  if (blocks.offset == offset && blocks.bytes == dst.size()) {
    const range_read whole{offset, dst};
    fetch({&whole, 1});
    return;
  }
  if (objects_->has_cheap_requests() && dst.size() >= 2 * manifest::block_bytes) {
    read_in_place(blocks, offset, dst);
    return;
  }
  const std::unique_ptr<std::byte[]> copy(new std::byte[blocks.bytes]);
  const range_read whole{blocks.offset, {copy.get(), blocks.bytes}};
  fetch({&whole, 1});
  std::memcpy(dst.data(), copy.get() + (offset - blocks.offset), dst.size());
}

void verified_object::read_in_place(const io::byte_range& blocks, std::uint64_t offset,
                                    std::span<std::byte> dst) const {
  constexpr std::uint64_t block = manifest::block_bytes;
  const std::uint64_t end = offset + dst.size(), blocks_end = blocks.offset + blocks.bytes;
  const std::uint64_t first = blocks.offset == offset ? offset : blocks.offset + block;
  const std::uint64_t last = blocks_end == end ? end : end / block * block;
  const std::unique_ptr<std::byte[]> edges(new std::byte[2 * block]);
  std::vector<range_read> parts;
  if (first != offset) parts.push_back({blocks.offset, {edges.get(), block}});
  if (first != last) parts.push_back({first, dst.subspan(first - offset, last - first)});
  if (last != end) parts.push_back({last, {edges.get() + block, blocks_end - last}});
  fetch(parts);
  if (first != offset) std::memcpy(dst.data(), edges.get() + (offset - blocks.offset), first - offset);
  if (last != end) std::memcpy(dst.data() + (last - offset), edges.get() + block, end - last);
}

std::vector<io::byte_range> verified_object::joined_blocks(std::span<const io::byte_range> parts) const {
  std::vector<io::byte_range> ranges;
  for (const io::byte_range& each : parts) ranges.push_back(whole_blocks(each));
  std::ranges::sort(ranges, {}, &io::byte_range::offset);
  std::vector<io::byte_range> out;
  for (const io::byte_range& each : ranges) {
    const std::uint64_t end = each.offset + each.bytes;
    if (!out.empty() && each.offset <= out.back().offset + out.back().bytes) {
      out.back().bytes = std::max(out.back().bytes, end - out.back().offset);
    } else {
      out.push_back(each);
    }
  }
  return out;
}

void verified_object::prefetch(std::span<const io::byte_range> parts) const {
  ahead_.begin(joined_blocks(parts));
}

void verified_object::check_all() const {
  const std::uint64_t window = std::min<std::uint64_t>(of_.bytes, check_window);
  const std::unique_ptr<std::byte[]> buffer(new std::byte[window]);
  for (std::uint64_t at = 0; at < of_.bytes; at += window) {
    const range_read part{at, {buffer.get(), std::min(window, of_.bytes - at)}};
    fetch({&part, 1});
  }
}

void verified_object::forget(std::span<const io::byte_range> parts) const {
  ahead_.forget(joined_blocks(parts));
}

}  // namespace halocline::storage

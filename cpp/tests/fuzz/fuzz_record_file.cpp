// SPDX-License-Identifier: Apache-2.0
// Record files of arbitrary bytes, as they are and with their digests made right: opening, recovery from the
// journal, reading, replacing. What is accepted must be consistent: a record that was written is read.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/pir/record_file.hpp"
#include "pir/record_format.hpp"

namespace {

using bytes = std::vector<std::byte>;
namespace pir = halocline::pir;
namespace io = halocline::io;

/// A file in memory that can be opened by name.
class memory_file {
 public:
  explicit memory_file(const bytes& content) : descriptor_(::memfd_create("records", MFD_CLOEXEC)) {
    if (descriptor_ < 0) std::abort();
    std::size_t done = 0;
    while (done < content.size()) {
      const ::ssize_t count = ::write(descriptor_, content.data() + done, content.size() - done);
      if (count <= 0) std::abort();
      done += static_cast<std::size_t>(count);
    }
  }
  ~memory_file() { ::close(descriptor_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

bytes read(const pir::record_file& from, std::uint64_t offset, std::uint64_t count) {
  bytes out(count);
  from.read(offset, out);
  return out;
}

void replace_one(const std::string& path) {
  bytes fresh;
  std::uint64_t offset = 0;
  try {
    const auto file = pir::open_record_file(path, true);
    const std::uint64_t record = file->shape().record_bytes;
    offset = (file->range().first + file->range().records - 1) * record;
    fresh.assign(record, std::byte{0x5A});
    file->write(offset, fresh);
    if (read(*file, offset, record) != fresh) std::abort();
  } catch (const halocline::corrupt_data&) {
    return;  // in the rest of its blocks
  }
  const auto again = pir::open_record_file(path, true);
  if (read(*again, offset, fresh.size()) != fresh) std::abort();
}

void open_and_use(const bytes& content) {
  const memory_file holder(content);
  try {
    const auto file = pir::open_record_file(holder.path(), true);
    const std::uint64_t begin = file->range().first * file->shape().record_bytes;
    const std::uint64_t count = file->range().records * file->shape().record_bytes;
    if (count > content.size()) std::abort();
    try {
      file->verify();
    } catch (const halocline::corrupt_data&) {
    }
    static_cast<void>(read(*file, begin + count / 3, count - count / 3));
  } catch (const halocline::corrupt_data&) {
    return;
  }
  replace_one(holder.path());
}

void put(bytes& content, std::size_t place, const auto& value) {
  std::memcpy(content.data() + place, value.data(), sizeof(value));
}

/// Makes the size and the digests of the header right, and the fingerprint where the geometry is readable.
void reseal(bytes& content) {
  if (content.size() < 2 * pir::record_page) return;
  const std::uint64_t size = content.size();
  std::memcpy(content.data() + 64, &size, sizeof(size));
  std::uint64_t text = 0;
  std::memcpy(&text, content.data() + 32, sizeof(text));
  text = std::min(text, size - pir::record_page);
  const auto geometry = std::span<const std::byte>(content).subspan(pir::record_page, text);
  put(content, 96, io::blake2b_128(geometry));
  try {
    const std::string letters(reinterpret_cast<const char*>(geometry.data()), geometry.size());
    put(content, 72, pir::fingerprint_of(pir::geometry_from_json(letters, true)));
  } catch (const halocline::error&) {
  }
  put(content, 112, io::blake2b_128(std::span<const std::byte>(content).first(112)));
  // The journal's own checksum, over as much as it names.
  std::uint64_t journal = 0;
  std::memcpy(&journal, content.data() + 40, sizeof(journal));
  if (journal > size || size - journal < pir::journal_header) return;
  std::uint64_t named[3];  // bytes, first block, blocks
  std::memcpy(named, content.data() + journal + 16, sizeof(named));
  const std::uint64_t room = size - journal - pir::journal_header;
  if (named[2] > room / 8 || named[0] > room - named[2] * 8) return;
  const auto entry = std::span(content).subspan(journal, pir::journal_header + named[2] * 8 + named[0]);
  std::memset(entry.data() + 56, 0, 8);
  const std::uint64_t sum = io::checksum64(entry);
  std::memcpy(entry.data() + 56, &sum, sizeof(sum));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  bytes content(first, first + size);
  open_and_use(content);
  reseal(content);
  open_and_use(content);
  return 0;
}

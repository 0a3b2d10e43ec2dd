// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal_format/packing.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "halocline/core/expects.hpp"
#if defined(HALOCLINE_ZLIB)
#include <zlib.h>
#endif
#if defined(HALOCLINE_ZSTD)
#include <zstd.h>
#endif

namespace halocline::seal_format {
namespace {

[[noreturn, maybe_unused]] void refuse(const char* name, const char* package) {
  throw device_error(text("SEAL file: this build has no ", name, "; install ", package,
                          " and build again, or write the file with compression none"));
}

/// Grows `out` for what an unpacker gives next, by half of what is there, so that it seldom happens.
/// @throws corrupt_data when `most` bytes are there
void grow(growing_bytes& out, std::size_t used, std::uint64_t most, bool at_once) {
  HALOCLINE_EXPECTS(used < most, corrupt_data, "SEAL file: it unpacks to more than ", most,
                    " bytes, the most for its size");
  if (at_once) return out.resize(static_cast<std::size_t>(most));
  constexpr std::uint64_t least = 64 << 10;
  out.resize(static_cast<std::size_t>(std::min(most, std::max(least, std::uint64_t{used} + used / 2))));
}

#if defined(HALOCLINE_ZLIB)
/// Most bytes that zlib takes or gives in one call.
constexpr std::size_t piece_bytes = std::size_t{1} << 30;

struct end_inflate {
  void operator()(z_stream* stream) const noexcept { (void)inflateEnd(stream); }
};

std::vector<std::byte> pack_zlib(std::span<const std::byte> bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::vector<std::byte> out(size);
  const int status =
      compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()), Z_DEFAULT_COMPRESSION);
  if (status != Z_OK) throw std::bad_alloc();
  out.resize(size);
  return out;
}

growing_bytes unpack_zlib(std::span<const std::byte> bytes, std::uint64_t most, bool at_once) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, end_inflate> ended(&stream);
  growing_bytes out;
  std::size_t used = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    if (used == out.size()) grow(out, used, most, at_once);
    const auto given = static_cast<uInt>(std::min(bytes.size(), piece_bytes));
    const auto room = static_cast<uInt>(std::min(out.size() - used, piece_bytes));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));  // it is only read
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<Bytef*>(out.all().data() + used);
    stream.avail_out = room;
    status = inflate(&stream, Z_NO_FLUSH);
    bytes = bytes.subspan(given - stream.avail_in);
    used += room - stream.avail_out;
    const bool moved = stream.avail_in != given || stream.avail_out != room;
    HALOCLINE_EXPECTS((status == Z_OK && moved) || status == Z_STREAM_END, corrupt_data,
                      "SEAL file: damaged zlib stream (status ", status, " after ", used, " bytes)");
  }
  HALOCLINE_EXPECTS(bytes.empty(), corrupt_data, "SEAL file: ", bytes.size(),
                    " bytes behind the end of its zlib stream");
  out.truncate(used);
  return out;
}
#endif

#if defined(HALOCLINE_ZSTD)
struct free_unpacker {
  void operator()(ZSTD_DStream* stream) const noexcept { (void)ZSTD_freeDStream(stream); }
};

std::vector<std::byte> pack_zstd(std::span<const std::byte> bytes) {
  std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), ZSTD_CLEVEL_DEFAULT);
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();
  out.resize(size);
  return out;
}

growing_bytes unpack_zstd(std::span<const std::byte> bytes, std::uint64_t most, bool at_once) {
  const std::unique_ptr<ZSTD_DStream, free_unpacker> stream(ZSTD_createDStream());
  if (!stream || ZSTD_isError(ZSTD_initDStream(stream.get())) != 0) throw std::bad_alloc();
  // The window is memory beside the result: 8 MiB, the most that decoders are asked to provide (RFC 8878).
  (void)ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, 23);
  growing_bytes out;
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  std::size_t used = 0;
  for (std::size_t status = 1; status != 0;) {
    if (used == out.size()) grow(out, used, most, at_once);
    ZSTD_outBuffer to{out.all().data(), out.size(), used};
    const std::size_t before = in.pos;
    status = ZSTD_decompressStream(stream.get(), &to, &in);
    const bool moved = to.pos != used || in.pos != before;
    used = to.pos;
    HALOCLINE_EXPECTS(ZSTD_isError(status) == 0 && (moved || status == 0), corrupt_data,
                      "SEAL file: damaged zstd stream (",
                      ZSTD_isError(status) != 0 ? ZSTD_getErrorName(status) : "it ends too early", " after ",
                      used, " bytes)");
  }
  HALOCLINE_EXPECTS(in.pos == in.size, corrupt_data, "SEAL file: ", in.size - in.pos,
                    " bytes behind the end of its zstd stream");
  out.truncate(used);
  return out;
}
#endif

}  // namespace

void growing_bytes::resize(std::size_t bytes) {
  auto* const moved = static_cast<std::byte*>(std::realloc(data_.get(), std::max<std::size_t>(bytes, 1)));
  if (moved == nullptr) throw std::bad_alloc();
  (void)data_.release();  // realloc has freed it, or it is `moved`
  data_.reset(moved);
  size_ = bytes;
}

bool is_supported(compression how) noexcept {
#if defined(HALOCLINE_ZLIB)
  if (how == compression::zlib) return true;
#endif
#if defined(HALOCLINE_ZSTD)
  if (how == compression::zstd) return true;
#endif
  return how == compression::none;
}

std::vector<std::byte> pack(std::span<const std::byte> bytes, compression how) {
  if (how == compression::zlib) {
#if defined(HALOCLINE_ZLIB)
    return pack_zlib(bytes);
#else
    refuse("zlib", "zlib1g-dev");
#endif
  }
  if (how == compression::zstd) {
#if defined(HALOCLINE_ZSTD)
    return pack_zstd(bytes);
#else
    refuse("zstd", "libzstd-dev");
#endif
  }
  return {bytes.begin(), bytes.end()};
}

growing_bytes unpack(std::span<const std::byte> bytes, compression how, [[maybe_unused]] std::uint64_t most,
                     [[maybe_unused]] bool at_once) {
  if (how == compression::zlib) {
#if defined(HALOCLINE_ZLIB)
    return unpack_zlib(bytes, most, at_once);
#else
    refuse("zlib", "zlib1g-dev");
#endif
  }
  if (how == compression::zstd) {
#if defined(HALOCLINE_ZSTD)
    return unpack_zstd(bytes, most, at_once);
#else
    refuse("zstd", "libzstd-dev");
#endif
  }
  growing_bytes out;
  out.resize(bytes.size());
  std::copy(bytes.begin(), bytes.end(), out.all().begin());
  return out;
}

}  // namespace halocline::seal_format

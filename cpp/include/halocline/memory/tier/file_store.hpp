// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "halocline/memory/tier/io_queue.hpp"
#include "halocline/memory/tier/store.hpp"

namespace halocline::memory {

/// How a file store is set up.
struct file_store_options {
  /// Folder on the disk that takes the bytes. Empty: the environment variable HALOCLINE_TIER_DIR; if that is
  /// empty too, the system's folder for temporary files, or /var/tmp where the former is kept in memory.
  std::filesystem::path folder;
  /// Largest size of the file in bytes; 0: as the disk allows.
  std::size_t capacity_bytes = 0;
  io_engine engine = io_engine::automatic;
  /// Chunks under way at once, 1 to 4096. io_uring only: threads run four.
  unsigned queue_depth = 64;
  /// Transfers are split into chunks of this many bytes, a multiple of 4096, so that one transfer uses all of
  /// a disk's parallelism.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// Past the page cache (O_DIRECT) where the file system can; else the system keeps copies in memory that
  /// count against no budget.
  bool direct = true;
};

/// A store in a file without a name: its disk space is free again when the store or the process ends, however
/// it ends, and no other process can open it. The bytes are not encrypted: bytes that must not reach a disk
/// must not be stored here. Transfers begin at once and run beside the computation; `wait` lets a transfer
/// overtake others that have not begun. `allocate` reserves the room on the disk, so a full disk shows there
/// and not when writing (on file systems that cannot reserve: in `wait`). The file never shrinks; room of
/// freed slots is used again. Each page of 4096 bytes has a checksum in the memory of the process (8 bytes),
/// which is noted when it is written and compared after each read, by the threads of the queue: a page that
/// was changed, cut off or never written raises corrupt_data, and no frame with such bytes is ever handed
/// out. A forked child must not use the store, and may only destroy it. `read` and `write` throw
/// invalid_argument for an unknown slot, a frame that is not aligned to 4096 bytes, and sizes that are 0, no
/// multiple of 4096 or larger than the slot; `allocate` for such sizes; `wait` for an unknown transfer.
/// @throws io_error when no file can be made in the folder or the engine is not to be had.
/// @throws invalid_argument for a queue depth or chunk size out of range.
[[nodiscard]] std::unique_ptr<store> make_file_store(const file_store_options& options = {});

}  // namespace halocline::memory

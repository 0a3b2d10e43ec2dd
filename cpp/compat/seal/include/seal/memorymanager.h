// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/util/defines.h"

namespace seal {

using mm_prof_opt_t = std::uint64_t;

/// Which pool `MemoryManager::GetPool` gives.
enum mm_prof_opt : mm_prof_opt_t {
  mm_default = 0x0,
  mm_force_global = 0x1,
  mm_force_new = 0x2,
  mm_force_thread_local = 0x4
};

namespace util {
class MemoryPool;
}  // namespace util

/// Name of a memory pool. Memory comes from the allocator of the process whatever the pool; a pool counts the
/// bytes of the objects made with it, and one that clears zeroes them before they are given back.
class MemoryPoolHandle {
 public:
  /// No pool. Objects refuse it.
  MemoryPoolHandle() = default;
  explicit MemoryPoolHandle(std::shared_ptr<util::MemoryPool> pool) noexcept : pool_(std::move(pool)) {}

  [[nodiscard]] static MemoryPoolHandle Global();
  [[nodiscard]] static MemoryPoolHandle ThreadLocal();
  [[nodiscard]] static MemoryPoolHandle New(bool clear_on_destruction = false);

  /// 0 for no pool, or 1.
  [[nodiscard]] std::size_t pool_count() const noexcept { return pool_ ? 1 : 0; }
  /// Bytes in use by objects of the pool.
  [[nodiscard]] std::size_t alloc_byte_count() const noexcept;
  [[nodiscard]] long use_count() const noexcept { return pool_.use_count(); }
  /// The pool itself, for its address: what it has is not declared.
  /// @throws std::logic_error for no pool
  [[nodiscard]] operator util::MemoryPool&() const {
    if (!pool_) throw std::logic_error("MemoryPoolHandle: the pool is uninitialized; pass a valid handle");
    return *pool_;
  }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(pool_); }
  [[nodiscard]] bool operator==(const MemoryPoolHandle& other) const noexcept { return pool_ == other.pool_; }
  [[nodiscard]] bool operator!=(const MemoryPoolHandle& other) const noexcept { return pool_ != other.pool_; }

  /// Most bytes of one piece of memory: pointers into it have differences, and rounding up to 64 stays below
  /// 2^64.
  static constexpr std::size_t max_bytes =
      static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - 64;
  /// Memory for `bytes` bytes, aligned to 64, uninitialised. Used by `DynArray`.
  /// @throws std::invalid_argument for no pool, std::bad_alloc for more than `max_bytes`, or than there are
  [[nodiscard]] void* allocate(std::size_t bytes) const;
  void deallocate(void* data, std::size_t bytes) const noexcept;

 private:
  std::shared_ptr<util::MemoryPool> pool_;
};

/// Chooses pools for `MemoryManager::GetPool`.
class MMProf {
 public:
  MMProf() = default;
  MMProf(const MMProf&) = delete;
  MMProf& operator=(const MMProf&) = delete;
  virtual ~MMProf() noexcept = default;
  [[nodiscard]] virtual MemoryPoolHandle get_pool(mm_prof_opt_t profile_opt) = 0;
};

/// The global pool.
class MMProfGlobal : public MMProf {
 public:
  [[nodiscard]] MemoryPoolHandle get_pool(mm_prof_opt_t) override { return MemoryPoolHandle::Global(); }
};

/// A new pool for each call.
class MMProfNew : public MMProf {
 public:
  [[nodiscard]] MemoryPoolHandle get_pool(mm_prof_opt_t) override { return MemoryPoolHandle::New(); }
};

/// One given pool.
class MMProfFixed : public MMProf {
 public:
  /// @throws std::invalid_argument for no pool
  MMProfFixed(MemoryPoolHandle pool) : pool_(std::move(pool)) {
    if (!pool_) throw std::invalid_argument("MMProfFixed: the pool is uninitialized; pass a valid handle");
  }
  [[nodiscard]] MemoryPoolHandle get_pool(mm_prof_opt_t) override { return pool_; }

 private:
  MemoryPoolHandle pool_;
};

/// The pool of the calling thread.
class MMProfThreadLocal : public MMProf {
 public:
  [[nodiscard]] MemoryPoolHandle get_pool(mm_prof_opt_t) override { return MemoryPoolHandle::ThreadLocal(); }
};

/// The pools that objects are made with where no handle is given.
class MemoryManager {
  friend class MMProfGuard;

 public:
  MemoryManager() = delete;

  /// Sets the profile, and returns the one before.
  /// @throws std::invalid_argument for none
  static std::unique_ptr<MMProf> SwitchProfile(MMProf* mm_prof) {
    return SwitchProfile(std::unique_ptr<MMProf>(mm_prof));
  }
  static std::unique_ptr<MMProf> SwitchProfile(std::unique_ptr<MMProf>&& mm_prof);

  /// The pool of `prof_opt`; further arguments are those of `MemoryPoolHandle::New`.
  template <typename... ArgsT>
  [[nodiscard]] static MemoryPoolHandle GetPool(mm_prof_opt_t prof_opt, ArgsT&&... args) {
    switch (prof_opt) {
      case mm_prof_opt::mm_force_global:
        return MemoryPoolHandle::Global();
      case mm_prof_opt::mm_force_new:
        return MemoryPoolHandle::New(std::forward<ArgsT>(args)...);
      case mm_prof_opt::mm_force_thread_local:
        return MemoryPoolHandle::ThreadLocal();
      default:
        return of_profile(prof_opt);
    }
  }
  [[nodiscard]] static MemoryPoolHandle GetPool() { return GetPool(mm_prof_opt::mm_default); }

 private:
  [[nodiscard]] static MemoryPoolHandle of_profile(mm_prof_opt_t prof_opt);
};

/// Sets a profile for as long as the guard lives.
class MMProfGuard {
 public:
  MMProfGuard(std::unique_ptr<MMProf>&& mm_prof, bool start_locked = true) noexcept(false)
      : mine_(std::move(mm_prof)) {
    if (start_locked) lock();
  }
  MMProfGuard(MMProf* mm_prof, bool start_locked = true)
      : MMProfGuard(std::unique_ptr<MMProf>(mm_prof), start_locked) {}
  MMProfGuard(const MMProfGuard&) = delete;
  MMProfGuard& operator=(const MMProfGuard&) = delete;
  ~MMProfGuard() { unlock(); }

  /// Sets the profile; false if it is set already.
  bool try_lock() {
    if (locked_) return false;
    lock();
    return true;
  }
  void lock() {
    if (locked_) return;
    mine_ = MemoryManager::SwitchProfile(std::move(mine_));
    locked_ = true;
  }
  /// Brings back the profile from before.
  void unlock() {
    if (!locked_) return;
    mine_ = MemoryManager::SwitchProfile(std::move(mine_));
    locked_ = false;
  }
  [[nodiscard]] bool owns_lock() const noexcept { return locked_; }
  [[nodiscard]] explicit operator bool() const noexcept { return locked_; }

 private:
  std::unique_ptr<MMProf> mine_;
  bool locked_ = false;
};

}  // namespace seal

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "seal/memorymanager.h"
#include "seal/serialization.h"
#include "seal/util/defines.h"

namespace seal {

/// Array that keeps its memory when it shrinks. For arithmetic types.
template <typename T>
class DynArray {
  static_assert(std::is_trivially_copyable_v<T>, "DynArray holds trivially copyable types");

 public:
  using type = T;
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  /// @throws std::invalid_argument for no pool
  DynArray(MemoryPoolHandle pool = MemoryManager::GetPool()) : pool_(std::move(pool)) { check_pool(); }
  explicit DynArray(std::size_t size, MemoryPoolHandle pool = MemoryManager::GetPool())
      : DynArray(std::move(pool)) {
    resize(size);
  }
  /// @throws std::invalid_argument unless size <= capacity
  DynArray(std::size_t capacity, std::size_t size, MemoryPoolHandle pool = MemoryManager::GetPool())
      : DynArray(std::move(pool)) {
    if (capacity < size) throw std::invalid_argument("DynArray: the capacity is below the size");
    reserve(capacity);
    resize(size);
  }
  /// The values from `begin` on, `size` of them, followed by zeros if `fill_zero`.
  DynArray(const T* values, std::size_t size, std::size_t capacity, bool fill_zero = true,
           MemoryPoolHandle pool = MemoryManager::GetPool())
      : DynArray(std::move(pool)) {
    if (capacity < size) throw std::invalid_argument("DynArray: the capacity is below the size");
    reserve(capacity);
    resize(size, false);
    std::copy_n(values, size, data_);
    if (fill_zero) std::fill(data_ + size, data_ + capacity_, T{});
  }
  DynArray(const DynArray& copy) : DynArray(copy, copy.pool_) {}
  DynArray(const DynArray& copy, MemoryPoolHandle pool) : DynArray(std::move(pool)) { assign(copy); }
  DynArray(DynArray&& source) noexcept
      : pool_(source.pool_),
        data_(std::exchange(source.data_, nullptr)),
        size_(std::exchange(source.size_, 0)),
        capacity_(std::exchange(source.capacity_, 0)) {}
  ~DynArray() { release(); }

  DynArray& operator=(const DynArray& other) {
    if (this != &other) assign(other);
    return *this;
  }
  DynArray& operator=(DynArray&& other) noexcept {
    if (this == &other) return *this;
    release();
    pool_ = other.pool_;
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* cbegin() const noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + size_; }
  [[nodiscard]] const T* cend() const noexcept { return data_ + size_; }
  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }

  /// @throws std::out_of_range
  [[nodiscard]] const T& at(std::size_t index) const {
    if (index >= size_)
      throw std::out_of_range("DynArray: index " + std::to_string(index) + " of " + std::to_string(size_));
    return data_[index];
  }
  [[nodiscard]] T& at(std::size_t index) { return const_cast<T&>(std::as_const(*this).at(index)); }
  [[nodiscard]] const T& operator[](std::size_t index) const { return at(index); }
  [[nodiscard]] T& operator[](std::size_t index) { return at(index); }
  [[nodiscard]] T& front() { return at(0); }
  [[nodiscard]] const T& front() const { return at(0); }
  [[nodiscard]] T& back() { return at(size_ - 1); }
  [[nodiscard]] const T& back() const { return at(size_ - 1); }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t max_size() const noexcept { return MemoryPoolHandle::max_bytes / sizeof(T); }

  /// Gives the memory back.
  void release() noexcept {
    if (data_ != nullptr) pool_.deallocate(data_, capacity_ * sizeof(T));
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  void clear() noexcept { size_ = 0; }
  /// Makes the capacity `capacity`, and the size no more than that.
  /// @throws std::bad_alloc for more than `max_size`, or more than there is; so does `resize`
  void reserve(std::size_t capacity) { reallocate(capacity, std::min(capacity, size_)); }
  void shrink_to_fit() { reserve(size_); }
  /// New values are zero if `fill_zero`.
  void resize(std::size_t size, bool fill_zero = true) {
    if (size > capacity_) reallocate(size, size_);
    if (fill_zero && size > size_) std::fill(data_ + size_, data_ + size, T{});
    size_ = size;
  }

  [[nodiscard]] bool operator==(const DynArray& other) const noexcept {
    return size_ == other.size_ && std::equal(begin(), end(), other.begin());
  }
  [[nodiscard]] bool operator!=(const DynArray& other) const noexcept { return !(*this == other); }

  [[nodiscard]] MemoryPoolHandle pool() const noexcept { return pool_; }

  /// Upper bound of the bytes that `save` writes.
  [[nodiscard]] std::streamoff save_size(
      compr_mode_type compr_mode = Serialization::compr_mode_default) const {
    return halocline_detail::array_save_size(size_ * sizeof(T), compr_mode);
  }
  std::streamoff save(std::ostream& stream,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const {
    return halocline_detail::save_array(data_, size_, sizeof(T), stream, compr_mode);
  }
  std::streamoff save(seal_byte* out, std::size_t size,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const {
    return halocline_detail::save_array(data_, size_, sizeof(T), out, size, compr_mode);
  }
  /// @param in_size_bound largest number of values that is accepted; 0 for any
  std::streamoff load(std::istream& stream, std::size_t in_size_bound = 0) {
    return halocline_detail::load_array(stream, sizeof(T), in_size_bound, [this](std::size_t size) {
      resize(size, false);
      return static_cast<void*>(data_);
    });
  }
  std::streamoff load(const seal_byte* in, std::size_t size, std::size_t in_size_bound = 0) {
    return halocline_detail::load_array(in, size, sizeof(T), in_size_bound, [this](std::size_t count) {
      resize(count, false);
      return static_cast<void*>(data_);
    });
  }

 private:
  void check_pool() const {
    if (!pool_)
      throw std::invalid_argument("DynArray: the memory pool is uninitialized; pass a valid handle");
  }
  void assign(const DynArray& other) {
    resize(other.size_, false);
    std::copy_n(other.data_, other.size_, data_);
  }
  void reallocate(std::size_t capacity, std::size_t keep) {
    if (capacity > max_size()) throw std::bad_alloc();
    if (capacity == capacity_) return;
    T* fresh = capacity == 0 ? nullptr : static_cast<T*>(pool_.allocate(capacity * sizeof(T)));
    if (keep != 0) std::memcpy(static_cast<void*>(fresh), data_, keep * sizeof(T));
    release();
    data_ = fresh;
    size_ = keep;
    capacity_ = capacity;
  }

  MemoryPoolHandle pool_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace seal

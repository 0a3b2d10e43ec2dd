// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/op_table.hpp"
#include "backend/sycl/kernels/parameters.hpp"
#include "backend/sycl/runtime/device_context.hpp"
#include "halocline/backend/descriptors.hpp"
#include "halocline/memory/runtime.hpp"

namespace halocline::backend::sycl {

/// Work items of a group, where a kernel does not ask for a number.
inline constexpr std::size_t group_items = 256;

/// Where the batches of one step run, for one word: views to addresses, items to launches.
template <typename WordT>
class executor {
 public:
  static constexpr unsigned word_bits = 8 * sizeof(WordT);

  executor(device_context& device, const ring_tables& ring, const memory::access& at)
      : device_(device),
        ring_(ring),
        at_(at),
        n_(ring.n()),
        log_n_(ring.log_n),
        moduli_(ring.moduli ? reinterpret_cast<const arith::modulus<WordT>*>(at.pointer(ring.moduli))
                            : nullptr),
        roots_(ring.roots ? reinterpret_cast<const WordT*>(at.pointer(ring.roots)) : nullptr) {}

  [[nodiscard]] std::size_t n() const noexcept { return n_; }
  [[nodiscard]] unsigned log_n() const noexcept { return log_n_; }

  /// First word of limb `i` of a view.
  [[nodiscard]] WordT* limb(const limb_view& view, std::size_t i) const noexcept {
    return raw<WordT>(*view.data) + (view.limb + i) * (n_ >> view.log_repeat);
  }
  /// First word of the limb of `prime` in a key buffer (limb i belongs to prime i).
  [[nodiscard]] const WordT* key_limb(const memory::buffer& key, std::uint32_t prime) const noexcept {
    return raw<WordT>(key) + prime * n_;
  }
  template <typename T>
  [[nodiscard]] T* raw(const memory::buffer& data) const noexcept {
    return reinterpret_cast<T*>(at_.pointer(data));
  }
  template <typename T>
  [[nodiscard]] T* raw_or_null(const memory::buffer* data) const noexcept {
    return data != nullptr ? raw<T>(*data) : nullptr;
  }
  [[nodiscard]] const arith::modulus<WordT>* modulus(std::uint32_t prime) const noexcept {
    return moduli_ + prime;
  }
  /// The four tables of a prime: `part` as `ring_tables::roots` lists them.
  [[nodiscard]] const WordT* roots(std::uint32_t prime, unsigned part) const noexcept {
    return roots_ + (4 * static_cast<std::size_t>(prime) + part) * n_;
  }

  /// Montgomery form of a residue.
  [[nodiscard]] WordT montgomery(WordT x, std::uint32_t prime) const noexcept {
    return static_cast<WordT>((static_cast<arith::double_word<WordT>>(x) << word_bits) % ring_.primes[prime]);
  }

  /// A copy of values that kernels can read.
  template <typename T>
  [[nodiscard]] const T* put(const std::vector<T>& values) const {
    return device_.parameters().put(values);
  }
  /// Items in a form that kernels take.
  template <typename ItemT>
  [[nodiscard]] sycl_kernels::batch<ItemT> batch_of(const std::vector<ItemT>& items, unsigned log_n) const {
    return {put(items), static_cast<std::uint32_t>(items.size()), log_n};
  }
  /// Runs a kernel whose parameter is `parameter`.
  template <typename ParameterT>
  void launch(std::string_view kernel, std::size_t work_items, std::size_t group,
              const ParameterT& parameter) const {
    device_.launch(kernel, word_bits, work_items, std::min(work_items, group),
                   device_.parameters().put(std::span<const ParameterT>(&parameter, 1)));
  }
  /// Runs a kernel with a work item for each of the 2^log_words words of each item.
  template <typename ItemT>
  void launch_words(std::string_view kernel, const std::vector<ItemT>& items, unsigned log_words,
                    std::size_t group = group_items) const {
    if (items.empty()) return;
    launch(kernel, items.size() << log_words, std::min(group, std::size_t{1} << log_words),
           batch_of(items, log_words));
  }

 private:
  device_context& device_;
  const ring_tables& ring_;
  const memory::access& at_;
  std::size_t n_;
  unsigned log_n_;
  const arith::modulus<WordT>* moduli_;
  const WordT* roots_;
};

// What the backend has, by the file that has it: exec_elementwise.cpp, exec_ntt.cpp, exec_rns.cpp,
// exec_client.cpp.
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> elementwise_operations();
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> ntt_operations();
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> rns_operations();
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> sample_operations();
/// Those that need doubles on the device.
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> double_operations();

// Steps of ntt_linear_combine.
template <typename WordT>
void run_ntt(const executor<WordT>& on, std::span<const unary_job> jobs);
template <typename WordT>
void run_linear_combine(const executor<WordT>& on, std::span<const linear_job> jobs);

}  // namespace halocline::backend::sycl

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ckks/encoder_fft.hpp"
#include "halocline/backend/registry.hpp"

namespace halocline::test {

/// The backend operation `slot_transform` on one device, without parameters or primes around it.
class slot_transform {
 public:
  slot_transform(std::uint32_t slots, unsigned generator, const char* device = "cpu")
      : slots_(slots), device_(backend::make_backend(device, {.memory = {}, .threads = 1})) {
    ring_.log_n = static_cast<unsigned>(std::countr_zero(slots)) + 1;
    table_ = upload(ckks::make_slot_table(slots, generator));
  }

  /// n times the coefficients of the polynomial with these slots.
  void to_coefficients(std::span<const std::complex<double>> values, std::span<double> coefficients) {
    const memory::buffer source = upload(std::as_bytes(values));
    run(backend::slot_direction::to_coefficients, source, values.size(), upload(std::as_bytes(coefficients)),
        std::as_writable_bytes(coefficients), {});
  }
  /// Slots of the polynomial with these coefficients.
  void to_slots(std::span<const double> coefficients, std::span<std::complex<double>> values) {
    run(backend::slot_direction::to_slots, upload(std::as_bytes(values)), slots_,
        upload(std::as_bytes(coefficients)), {}, std::as_writable_bytes(values));
  }

 private:
  [[nodiscard]] memory::buffer upload(std::span<const std::byte> bytes) {
    memory::buffer data = device_->runtime().allocate(bytes.size(), memory::object_class::scratch, "test");
    device_->upload(data, 0, bytes);
    return data;
  }
  void run(backend::slot_direction direction, const memory::buffer& slots, std::size_t count,
           const memory::buffer& coefficients, std::span<std::byte> coefficients_out,
           std::span<std::byte> slots_out) {
    const backend::slot_job job{direction,     &slots,  static_cast<std::uint32_t>(count),
                                &coefficients, &table_, ring_.log_n - 1};
    device_->slot_transform(ring_, {&job, 1});
    if (!coefficients_out.empty()) device_->download(coefficients_out, coefficients, 0);
    if (!slots_out.empty()) device_->download(slots_out, slots, 0);
  }

  std::uint32_t slots_;
  std::shared_ptr<backend::backend> device_;
  backend::ring_tables ring_;
  memory::buffer table_;
};

}  // namespace halocline::test

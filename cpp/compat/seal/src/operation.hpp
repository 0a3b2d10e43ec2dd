// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines.hpp"
#include "halocline/core/error.hpp"

namespace seal::halocline_detail {

/// What a result is beside its words.
struct result_shape {
  parms_id_type parms_id = parms_id_zero;
  double scale = 1.0;
  bool is_ntt_form = true;
};

/// Runs a part of an operation. What the library finds wrong with operands is thrown as SEAL's type.
/// @throws std::invalid_argument
template <typename ActionT>
auto checked(ActionT action) -> decltype(action()) {
  try {
    return action();
  } catch (const ::halocline::invalid_argument& error) {
    throw std::invalid_argument(error.what());
  } catch (const ::halocline::level_exhausted& error) {
    throw std::invalid_argument(error.what());
  } catch (const ::halocline::scale_mismatch& error) {
    throw std::invalid_argument(error.what());
  } catch (const ::halocline::missing_key& error) {
    throw std::invalid_argument(error.what());
  }
}

/// The mark that a name of a device in the environment means: "" for none, or for "cpu".
/// @param name value of `HALOCLINE_SEAL_DEVICE`, or nullptr
/// @throws std::invalid_argument for another name; std::runtime_error when there is no such device here
[[nodiscard]] std::string place_named_by(const char* name);
/// The mark of operations without a marked operand: what `HALOCLINE_SEAL_DEVICE` says, read at the first call
/// of the process that does not throw.
[[nodiscard]] const std::string& default_place();

/// One operation of the evaluator: the queue on which it runs, and its result.
class operation {
 public:
  /// @param place the mark of its operands, "" for none
  operation(const SEALContext& context, std::string place)
      : place_(place.empty() ? default_place() : std::move(place)), on_(engines::of(context)->mine(place_)) {}

  [[nodiscard]] bool is_away() const noexcept { return !place_.empty(); }
  /// The words of an operand in the queue's memory.
  /// @throws std::logic_error for an empty ciphertext, of which every result is transparent
  [[nodiscard]] device_ciphertext operand(const Ciphertext& from) const {
    if (from.size() == 0) refuse_transparent();
    return checked([&] { return on_queue(on_, from); });
  }
  [[nodiscard]] device_plaintext operand(const Plaintext& from) const {
    return checked([&] { return on_queue(on_, from); });
  }
  [[nodiscard]] device_key_set operand(const RelinKeys& from) const {
    return checked([&] { return keys_on_queue(on_, from); });
  }
  /// The key of one element.
  [[nodiscard]] device_key_set operand(const GaloisKeys& from, std::uint32_t element) const {
    return checked([&] { return keys_on_queue(on_, from, element); });
  }
  /// The queue's parameter set, within `run` only.
  [[nodiscard]] core::context& ring() const noexcept { return on_->ctx; }

  /// Computes `body(evaluator)` and makes it the contents of `to`, which may be an operand.
  /// @throws std::logic_error for a transparent result, where words can be looked at without waiting
  template <typename BodyT>
  void run(BodyT body, const result_shape& shape, Ciphertext& to) const {
    std::shared_ptr<queue_words<core::ciphertext>> made;
    {
      const std::scoped_lock lock(on_->mutex);
      core::ciphertext value = checked([&] { return body(on_->on); });
      value.scale = 1.0;
      if (!is_away() && is_transparent(value.parts)) refuse_transparent();
      made = std::make_shared<queue_words<core::ciphertext>>(on_, std::move(value));
    }
    keep(std::move(made), shape, to);
  }

  [[noreturn]] static void refuse_transparent() {
    throw std::logic_error("result ciphertext is transparent: it hides nothing");
  }

 private:
  [[nodiscard]] bool is_transparent(const core::polynomials& of) const;
  void keep(std::shared_ptr<queue_words<core::ciphertext>> made, const result_shape& shape,
            Ciphertext& to) const;

  std::string place_;  // of the result; before the queue, which is found by it
  std::shared_ptr<queue> on_;
};

/// The mark of operands: that of the first marked one.
[[nodiscard]] std::string place_of(const Ciphertext& a);
[[nodiscard]] std::string place_of(const Ciphertext& a, const Ciphertext& b);
[[nodiscard]] std::string place_of(const Ciphertext& a, const Plaintext& b);

}  // namespace seal::halocline_detail

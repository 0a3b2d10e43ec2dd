// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// A small strict JSON reader and writer (RFC 8259) for parameter literals, plans and result headers. It is
/// made for untrusted bytes: size, depth and number of values are limited before anything is allocated for
/// them, duplicate names and trailing bytes are refused, and every error names line and column.
namespace halocline::json {

class value;
using array = std::vector<value>;              ///< elements in order
using member = std::pair<std::string, value>;  ///< name and content
using object = std::vector<member>;            ///< members keep their order, so that writing is deterministic

/// Limits of `parse`.
struct limits {
  std::size_t bytes = std::size_t{1} << 20;
  std::size_t depth = 32;      ///< nested arrays and objects
  std::size_t values = 65536;  ///< scalars, arrays and objects together
};

/// One JSON value: null, bool, number, string, array or object. Numbers are doubles; integers up to 2^53 are
/// exact.
class value {
 public:
  /// The six kinds, in the order of `kind()`.
  using storage = std::variant<std::nullptr_t, bool, double, std::string, array, object>;

  value() noexcept : data_(nullptr) {}
  value(std::nullptr_t) noexcept : data_(nullptr) {}             // NOLINT(google-explicit-constructor)
  value(bool v) noexcept : data_(v) {}                           // NOLINT(google-explicit-constructor)
  value(double v) noexcept : data_(v) {}                         // NOLINT(google-explicit-constructor)
  value(int v) noexcept : data_(static_cast<double>(v)) {}       // NOLINT(google-explicit-constructor)
  value(unsigned v) noexcept : data_(static_cast<double>(v)) {}  // NOLINT(google-explicit-constructor)
  /// @throws invalid_argument when |v| > 2^53, where a double is no longer exact
  value(std::uint64_t v);                                 // NOLINT(google-explicit-constructor)
  value(std::int64_t v);                                  // NOLINT(google-explicit-constructor)
  value(const char* v) : data_(std::string(v)) {}         // NOLINT(google-explicit-constructor)
  value(std::string v) noexcept : data_(std::move(v)) {}  // NOLINT(google-explicit-constructor)
  value(array v) noexcept : data_(std::move(v)) {}        // NOLINT(google-explicit-constructor)
  value(object v) noexcept : data_(std::move(v)) {}       // NOLINT(google-explicit-constructor)

  /// Typed access. `what` names the value in the message, e.g. "log_n".
  /// @throws invalid_argument when the value is of another kind, or no integer in [low, high]
  [[nodiscard]] bool as_bool(std::string_view what) const;
  [[nodiscard]] double as_number(std::string_view what) const;
  [[nodiscard]] std::uint64_t as_integer(std::string_view what, std::uint64_t low, std::uint64_t high) const;
  [[nodiscard]] const std::string& as_string(std::string_view what) const;
  [[nodiscard]] const array& as_array(std::string_view what) const;
  [[nodiscard]] const object& as_object(std::string_view what) const;

  /// "null", "bool", "number", "string", "array" or "object".
  [[nodiscard]] std::string_view kind() const noexcept;
  /// The stored alternative, for visitors.
  [[nodiscard]] const storage& data() const noexcept { return data_; }

  bool operator==(const value&) const = default;

 private:
  storage data_;
};

/// Member called `name`, or nullptr.
[[nodiscard]] const value* find(const object& members, std::string_view name) noexcept;

/// A name for messages: what terminals might obey, and all but ASCII, as "\x1b"; long ones are shortened.
[[nodiscard]] std::string printable(std::string_view name);

/// Parses exactly one JSON text (UTF-8).
/// @throws corrupt_data with line and column: what was found, what was expected; or which limit is exceeded
[[nodiscard]] value parse(std::string_view text, const limits& limit = {});

/// Writes `v`; numbers in the shortest form that reads back exactly. `indent` 0 writes one line without
/// spaces.
/// @throws invalid_argument on an infinite or NaN number, which JSON does not have
[[nodiscard]] std::string write(const value& v, unsigned indent = 0);

}  // namespace halocline::json

// SPDX-License-Identifier: Apache-2.0
#include "halocline/core/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "halocline/core/expects.hpp"

namespace halocline::json {

namespace {

constexpr std::uint64_t exact_integers = std::uint64_t{1} << 53;

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Length of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table 3-7), 0 when there is
/// none.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return continues(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    const bool overlong = first == 0xE0U && byte(1) < 0xA0U;
    const bool surrogate = first == 0xEDU && byte(1) > 0x9FU;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    const bool overlong = first == 0xF0U && byte(1) < 0x90U;
    const bool too_large = first == 0xF4U && byte(1) > 0x8FU;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

void append_utf8(std::string& out, unsigned code) {
  const auto put = [&](unsigned b) { out.push_back(static_cast<char>(b)); };
  if (code < 0x80U) {
    put(code);
  } else if (code < 0x800U) {
    put(0xC0U | (code >> 6U));
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000U) {
    put(0xE0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3FU));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

/// Recursive descent over the text; the depth limit bounds the recursion.
class parser {
 public:
  parser(std::string_view source, const limits& limit) : source_(source), limit_(limit) {}

  value run() {
    skip_space();
    value result = parse_value(0);
    skip_space();
    if (at_ < source_.size())
      fail(text("unexpected ", here(), " after the end of the value; expected nothing"));
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view message) const {
    const std::string_view before = source_.substr(0, at_);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = at_ - (start == std::string_view::npos ? 0 : start + 1) + 1;
    throw corrupt_data(text("JSON line ", line, ", column ", column, ": ", message));
  }

  /// What stands at the current position, printable.
  [[nodiscard]] std::string here() const {
    if (at_ >= source_.size()) return "end of text";
    const char c = source_[at_];
    if (c >= 0x20 && c < 0x7F) return text("'", c, "'");
    static constexpr std::string_view hex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return text("byte 0x", hex[byte >> 4U], hex[byte & 0xFU]);
  }

  [[nodiscard]] bool at_char(char c) const noexcept { return at_ < source_.size() && source_[at_] == c; }
  [[nodiscard]] bool at_digit() const noexcept { return at_ < source_.size() && is_digit(source_[at_]); }

  bool take(char c) noexcept {
    if (!at_char(c)) return false;
    ++at_;
    return true;
  }

  void expect(char c, std::string_view where) {
    if (!take(c)) fail(text("found ", here(), "; expected '", c, "' ", where));
  }

  void skip_space() noexcept {
    while (at_char(' ') || at_char('\t') || at_char('\n') || at_char('\r')) ++at_;
  }

  bool take_word(std::string_view word) noexcept {
    if (source_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  value parse_value(std::size_t depth) {
    if (++values_ > limit_.values)
      fail(text("more than ", limit_.values, " values; expected at most that many"));
    if (at_char('{') || at_char('[')) {
      if (depth >= limit_.depth)
        fail(text("nested deeper than ", limit_.depth, " levels; expected at most that"));
      return at_char('{') ? value(parse_object(depth + 1)) : value(parse_array(depth + 1));
    }
    if (at_char('"')) return parse_string();
    if (at_char('-') || at_digit()) return parse_number();
    if (take_word("true")) return true;
    if (take_word("false")) return false;
    if (take_word("null")) return nullptr;
    fail(text("found ", here(), "; expected a value"));
  }

  object parse_object(std::size_t depth) {
    const std::size_t start = at_;
    expect('{', "at the start of an object");
    object members;
    skip_space();
    if (take('}')) return members;
    do {
      skip_space();
      if (!at_char('"')) fail(text("found ", here(), "; expected '\"' at the start of a member name"));
      std::string name = parse_string();
      skip_space();
      expect(':', "after a member name");
      skip_space();
      value content = parse_value(depth);
      members.emplace_back(std::move(name), std::move(content));
      skip_space();
    } while (take(','));
    expect('}', "or ',' after a member");
    refuse_duplicates(members, start);
    return members;
  }

  array parse_array(std::size_t depth) {
    expect('[', "at the start of an array");
    array items;
    skip_space();
    if (take(']')) return items;
    do {
      skip_space();
      items.push_back(parse_value(depth));
      skip_space();
    } while (take(','));
    expect(']', "or ',' after an element");
    return items;
  }

  /// Sorting keeps this below n log n, so that a large object cannot stall the parser.
  void refuse_duplicates(const object& members, std::size_t start) {
    std::vector<std::string_view> names;
    names.reserve(members.size());
    for (const member& m : members) names.emplace_back(m.first);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return;
    at_ = start;
    fail(text("an object has the member \"", printable(*twice), "\" twice; expected each name once"));
  }

  double parse_number() {
    const std::size_t start = at_;
    take('-');
    if (!at_digit()) fail(text("found ", here(), "; expected a digit"));
    if (take('0')) {
      if (at_digit()) fail("a number has a leading zero; expected none");
    } else {
      skip_digits();
    }
    if (take('.')) require_digits("after the decimal point");
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      require_digits("in the exponent");
    }
    double result = 0;
    const auto [end, status] = std::from_chars(source_.data() + start, source_.data() + at_, result);
    if (status != std::errc{} || end != source_.data() + at_ || !std::isfinite(result)) {
      at_ = start;
      fail("a number does not fit a double; expected at most about 1.8e308 and no smaller than 4.9e-324");
    }
    return result;
  }

  void skip_digits() noexcept {
    while (at_digit()) ++at_;
  }

  void require_digits(std::string_view where) {
    if (!at_digit()) fail(text("found ", here(), "; expected a digit ", where));
    skip_digits();
  }

  std::string parse_string() {
    expect('"', "at the start of a string");
    std::string result;
    while (!at_char('"')) {
      if (at_ >= source_.size()) fail("the text ends inside a string; expected '\"'");
      if (take('\\')) {
        append_escape(result);
        continue;
      }
      if (static_cast<unsigned char>(source_[at_]) < 0x20U)
        fail(text(here(), " in a string; expected an escape"));
      const std::size_t length = utf8_length(source_.substr(at_, 4));
      if (length == 0) fail(text(here(), " is not valid UTF-8 here; expected a complete character"));
      result.append(source_.substr(at_, length));
      at_ += length;
    }
    ++at_;
    return result;
  }

  void append_escape(std::string& result) {
    static constexpr std::string_view names = "\"\\/bfnrt";
    static constexpr std::string_view codes = "\"\\/\b\f\n\r\t";
    if (take('u')) {
      append_utf8(result, parse_code_point());
      return;
    }
    const std::size_t which = at_ < source_.size() ? names.find(source_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos)
      fail(text("found ", here(), " after a backslash; expected one of \"\\/bfnrtu"));
    result.push_back(codes[which]);
    ++at_;
  }

  unsigned parse_code_point() {
    const unsigned high = parse_hex4();
    if (high < 0xD800U || high > 0xDFFFU) return high;
    if (high > 0xDBFFU || !take('\\') || !take('u')) fail("a lone surrogate in a string; expected a pair");
    const unsigned low = parse_hex4();
    if (low < 0xDC00U || low > 0xDFFFU) fail("a lone surrogate in a string; expected a pair");
    return 0x10000U + ((high - 0xD800U) << 10U) + (low - 0xDC00U);
  }

  unsigned parse_hex4() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      static constexpr std::string_view digits = "0123456789abcdef";
      const char c = at_ < source_.size() ? source_[at_] : ' ';
      const std::size_t digit = digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
      if (digit == std::string_view::npos)
        fail(text("found ", here(), "; expected four hexadecimal digits after \\u"));
      code = code * 16 + static_cast<unsigned>(digit);
    }
    return code;
  }

  std::string_view source_;
  const limits& limit_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
};

void write_string(std::string& out, std::string_view s) {
  out.push_back('"');
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20U) {
      static constexpr std::string_view hex = "0123456789abcdef";
      out += "\\u00";
      out.push_back(hex[static_cast<unsigned char>(c) >> 4U]);
      out.push_back(hex[static_cast<unsigned char>(c) & 0xFU]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void write_number(std::string& out, double v) {
  HALOCLINE_EXPECTS(std::isfinite(v), invalid_argument, "JSON has no infinite or NaN numbers; got ", v,
                    "; replace it before writing");
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), v).ptr;
  out.append(digits.data(), end);
}

void new_line(std::string& out, unsigned indent, std::size_t depth) {
  if (indent == 0) return;
  out.push_back('\n');
  out.append(indent * depth, ' ');
}

void write_value(std::string& out, const value& v, unsigned indent, std::size_t depth);

/// Writes the elements of an array or object between its brackets, one per line when indented.
template <typename ItemsT, typename WriteT>
void write_items(std::string& out, const ItemsT& items, std::string_view brackets, unsigned indent,
                 std::size_t depth, const WriteT& write_item) {
  out.push_back(brackets[0]);
  bool first = true;
  for (const auto& item : items) {
    if (!first) out.push_back(',');
    first = false;
    new_line(out, indent, depth + 1);
    write_item(item);
  }
  if (!items.empty()) new_line(out, indent, depth);
  out.push_back(brackets[1]);
}

void write_value(std::string& out, const value& v, unsigned indent, std::size_t depth) {
  const value::storage& data = v.data();
  if (const auto* b = std::get_if<bool>(&data)) {
    out += *b ? "true" : "false";
  } else if (const auto* d = std::get_if<double>(&data)) {
    write_number(out, *d);
  } else if (const auto* s = std::get_if<std::string>(&data)) {
    write_string(out, *s);
  } else if (const auto* a = std::get_if<array>(&data)) {
    write_items(out, *a, "[]", indent, depth,
                [&](const value& item) { write_value(out, item, indent, depth + 1); });
  } else if (const auto* o = std::get_if<object>(&data)) {
    write_items(out, *o, "{}", indent, depth, [&](const member& item) {
      write_string(out, item.first);
      out += indent == 0 ? ":" : ": ";
      write_value(out, item.second, indent, depth + 1);
    });
  } else {
    out += "null";
  }
}

template <typename WantT>
const WantT& get(const value& v, std::string_view what, std::string_view wanted) {
  const auto* found = std::get_if<WantT>(&v.data());
  HALOCLINE_EXPECTS(found != nullptr, invalid_argument, "\"", what, "\" is of kind ", v.kind(), "; expected ",
                    wanted);
  return *found;
}

}  // namespace

value::value(std::uint64_t v) : data_(static_cast<double>(v)) {
  HALOCLINE_EXPECTS(v <= exact_integers, invalid_argument, "integer ", v,
                    " is above 2^53, where JSON numbers are no longer exact; write it as a string");
}

value::value(std::int64_t v) : data_(static_cast<double>(v)) {
  constexpr auto bound = static_cast<std::int64_t>(exact_integers);
  HALOCLINE_EXPECTS(v >= -bound && v <= bound, invalid_argument, "integer ", v,
                    " is beyond 2^53, where JSON numbers are no longer exact; write it as a string");
}

std::string_view value::kind() const noexcept {
  static constexpr std::array<std::string_view, 6> names = {"null",   "bool",  "number",
                                                            "string", "array", "object"};
  return names[data_.index()];
}

bool value::as_bool(std::string_view what) const { return get<bool>(*this, what, "a bool"); }
double value::as_number(std::string_view what) const { return get<double>(*this, what, "a number"); }
const std::string& value::as_string(std::string_view what) const {
  return get<std::string>(*this, what, "a string");
}
const array& value::as_array(std::string_view what) const { return get<array>(*this, what, "an array"); }
const object& value::as_object(std::string_view what) const { return get<object>(*this, what, "an object"); }

std::uint64_t value::as_integer(std::string_view what, std::uint64_t low, std::uint64_t high) const {
  const double number = as_number(what);
  const bool whole =
      std::trunc(number) == number && number >= 0 && number <= static_cast<double>(exact_integers);
  const std::uint64_t result = whole ? static_cast<std::uint64_t>(number) : 0;
  HALOCLINE_EXPECTS(whole && result >= low && result <= high, invalid_argument, "\"", what, "\" is ", number,
                    "; expected an integer in ", low, "..", high);
  return result;
}

const value* find(const object& members, std::string_view name) noexcept {
  const auto it =
      std::find_if(members.begin(), members.end(), [&](const member& m) { return m.first == name; });
  return it == members.end() ? nullptr : &it->second;
}

std::string printable(std::string_view name) {
  constexpr std::size_t shown = 60;
  static constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const char c : name.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c >= 0x20 && c < 0x7F) {
      out += c;
    } else {
      out += {'\\', 'x', hex[byte >> 4U], hex[byte & 0xFU]};
    }
  }
  return name.size() > shown ? out + "..." : out;
}

value parse(std::string_view text, const limits& limit) {
  HALOCLINE_EXPECTS(text.size() <= limit.bytes, corrupt_data, "JSON text has ", text.size(),
                    " bytes; expected at most ", limit.bytes);
  return parser(text, limit).run();
}

std::string write(const value& v, unsigned indent) {
  std::string out;
  write_value(out, v, indent, 0);
  return out;
}

}  // namespace halocline::json

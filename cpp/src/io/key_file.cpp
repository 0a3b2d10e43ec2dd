// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/key_file.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/io/byte_source.hpp"
#include "halocline/io/container_reader.hpp"
#include "key_sections.hpp"
#include "object_parts.hpp"

namespace halocline::io {
namespace {

using detail::half_a;
using detail::half_b;

/// Bits of the flags of a list entry.
constexpr std::uint32_t seeded_flag = 1;

/// Throws invalid_argument unless the key has the shape that the parameters give it; true when it is seeded.
[[nodiscard]] bool check_shape(const params::parameters& parameters, const ckks::evaluation_key& key) {
  HALOCLINE_EXPECTS(
      ckks::is_key_element(parameters, key.galois_element) && key.level <= parameters.top_level(),
      invalid_argument, "cannot save a key for Galois element ", key.galois_element, " and level ", key.level,
      ", expected an odd element below ", 2 * parameters.n(), " and a level up to ", parameters.top_level());
  const auto layouts = ckks::key_layout(parameters, {key.galois_element, key.level});
  HALOCLINE_EXPECTS(key.digits.size() == layouts.size(), invalid_argument, "cannot save a key of ",
                    key.digits.size(), " digits, expected ", layouts.size(), " at level ", key.level);
  const bool seeded = !key.digits.front().a;
  for (std::size_t j = 0; j < layouts.size(); ++j) {
    const ckks::evaluation_key_digit& digit = key.digits[j];
    const std::size_t bytes = layouts[j].limbs() * parameters.limb_bytes();
    HALOCLINE_EXPECTS(digit.b.size() == bytes && digit.a.size() == (seeded ? 0 : bytes), invalid_argument,
                      "cannot save a key with digits of ", digit.b.size(), " and ", digit.a.size(),
                      " bytes, expected ", bytes, " and ", seeded ? 0 : bytes);
  }
  return seeded;
}

[[nodiscard]] memory::buffer allocate_half(ckks::context& ctx, std::size_t limbs) {
  return ctx.runtime().allocate(limbs * ctx.tables().limb_bytes(), memory::object_class::evaluation_key,
                                "evaluation_key");
}

/// The first limbs of one half of a digit in a bundle.
class stored_half final : public memory::remote_contents {
 public:
  stored_half(std::shared_ptr<const container_reader> reader, const section& from, detail::residue_rule rule)
      : reader_(std::move(reader)), from_(from), rule_(std::move(rule)) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return rule_.moduli.size() * rule_.limb_bytes;
  }
  [[nodiscard]] std::string origin() const override { return reader_->name(); }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    HALOCLINE_EXPECTS(offset <= bytes() && dst.size() <= bytes() - offset, invalid_argument,
                      "cannot read bytes [", offset, ", ", offset + dst.size(), ") of a half of ", bytes());
    // Whole blocks have checksums. Asking for them makes one request of a range that ends within a block.
    const std::uint64_t begin = offset / block_bytes * block_bytes;
    const std::uint64_t all = (offset + dst.size() + block_bytes - 1) / block_bytes * block_bytes;
    const std::uint64_t end = std::min(all, from_.bytes);
    if (begin == offset && end == offset + dst.size()) {
      reader_->read(from_, offset, dst);
    } else {
      std::vector<std::byte> blocks(end - begin);
      reader_->read(from_, begin, blocks);
      std::memcpy(dst.data(), blocks.data() + (offset - begin), dst.size());
    }
    detail::expect_residues(rule_, dst, offset, *reader_, from_);
  }

 private:
  std::shared_ptr<const container_reader> reader_;
  section from_;
  detail::residue_rule rule_;
};

}  // namespace

key_bundle_writer::key_bundle_writer(const output& to, ckks::context& ctx, const ckks::key_id& id)
    // `new`, because a writer cannot be moved.
    : ctx_(ctx),
      writer_(new container_writer(to.open(object_kind::evaluation_keys, ctx.parameters()))),
      id_(id) {
  detail::require_contents(ctx);
  detail::add_parameters(*writer_, ctx.parameters());
}

key_bundle_writer::~key_bundle_writer() = default;

void key_bundle_writer::reserve(std::size_t bytes) { writer_->reserve(bytes + bytes / 16); }

void key_bundle_writer::add(const ckks::evaluation_key& key) {
  const bool seeded = check_shape(ctx_.parameters(), key);
  id_ = ckks::common_key(id_, key.id, "cannot save the keys", "the bundle", "the key to be added");
  key_entry entry{key.level, static_cast<std::uint32_t>(key.digits.size()), {}};
  for (std::size_t i = 0; i < key.digits.size(); ++i) {
    const ckks::evaluation_key_digit& digit = key.digits[i];
    detail::add_buffer(*writer_, half_b(key.galois_element, i), ctx_, digit.b, digit.b.size());
    if (seeded) {
      entry.sources.push_back(digit.source);
    } else {
      detail::add_buffer(*writer_, half_a(key.galois_element, i), ctx_, digit.a, digit.a.size());
    }
  }
  entries_.emplace(key.galois_element, std::move(entry));
}

void key_bundle_writer::finish() {
  writer_->set_key(id_);
  byte_writer list;
  list.put(std::uint64_t{entries_.size()});
  for (const auto& [element, entry] : entries_) {
    list.put(element);
    list.put(std::uint32_t{entry.level});
    list.put(entry.digits);
    list.put(entry.sources.empty() ? std::uint32_t{0} : seeded_flag);
    list.put(std::uint32_t{0});
    for (const backend::uniform_source& source : entry.sources) detail::put_source(list, source);
  }
  writer_->add_section(detail::metadata_section, list.bytes());
  writer_->finish();
}

key_bundle_reader::key_bundle_reader(const input& from, ckks::context& ctx)
    : ctx_(ctx), reader_(std::make_shared<const container_reader>(from.open())) {
  detail::expect_object(*reader_, object_kind::evaluation_keys, ctx.parameters());
  read_list();
}

key_bundle_reader::~key_bundle_reader() = default;

const ckks::key_id& key_bundle_reader::id() const noexcept { return reader_->key(); }

void key_bundle_reader::read_list() {
  std::vector<std::byte> storage;
  byte_reader in = detail::open_metadata(*reader_, reader_->bytes(), storage);
  std::uint64_t sections = 2;
  std::uint64_t last = 0;
  for (auto left = in.get<std::uint64_t>(); left > 0; --left) {
    const auto element = in.get<std::uint64_t>();
    HALOCLINE_EXPECTS(ckks::is_key_element(ctx_.parameters(), element) && element > last, corrupt_data,
                      reader_->name(), " is not valid: a key has Galois element ", element,
                      ", expected odd numbers below ", 2 * ctx_.parameters().n(), " in ascending order");
    last = element;
    const key_entry& entry = entries_.emplace(element, read_entry(in, element)).first->second;
    sections += std::uint64_t{entry.digits} * (entry.sources.empty() ? 2 : 1);
  }
  in.expect_end();
  HALOCLINE_EXPECTS(!entries_.empty() || reader_->version() >= key_id_version, corrupt_data, reader_->name(),
                    " is not valid: it lists no keys, expected at least one in format version ",
                    reader_->version());
  detail::expect_sections(*reader_, sections);
}

key_entry key_bundle_reader::read_entry(byte_reader& in, std::uint64_t galois_element) const {
  const auto& parameters = ctx_.parameters();
  key_entry entry;
  entry.level = in.get<std::uint32_t>();
  entry.digits = in.get<std::uint32_t>();
  const auto flags = in.get<std::uint32_t>();
  const auto reserved = in.get<std::uint32_t>();
  HALOCLINE_EXPECTS(entry.level <= parameters.top_level() && (flags & ~seeded_flag) == 0 && reserved == 0,
                    corrupt_data, reader_->name(), " is not valid: the key for Galois element ",
                    galois_element, " has level ", entry.level, " and form ", flags,
                    ", expected a level up to ", parameters.top_level(), " and form 0 or 1");
  const auto layouts = ckks::key_layout(parameters, {galois_element, entry.level});
  HALOCLINE_EXPECTS(entry.digits == layouts.size(), corrupt_data, reader_->name(),
                    " is not valid: the key for Galois element ", galois_element, " has ", entry.digits,
                    " digits, expected ", layouts.size());
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const unsigned limbs = layouts[i].limbs();
    static_cast<void>(detail::limb_section(*reader_, half_b(galois_element, i), ctx_, limbs));
    if (flags == seeded_flag) {
      entry.sources.push_back(detail::get_source(in, *reader_));
    } else {
      static_cast<void>(detail::limb_section(*reader_, half_a(galois_element, i), ctx_, limbs));
    }
  }
  return entry;
}

std::vector<ckks::key_request> key_bundle_reader::list() const {
  std::vector<ckks::key_request> out;
  for (const auto& [element, entry] : entries_) out.push_back({element, entry.level});
  return out;
}

const key_entry& key_bundle_reader::find(std::uint64_t galois_element, unsigned level) const {
  const auto found = entries_.find(galois_element);
  HALOCLINE_EXPECTS(found != entries_.end(), missing_key, reader_->name(), " has no ",
                    ckks::describe_key(ctx_.parameters(), galois_element),
                    "; add it when the keys are generated");
  HALOCLINE_EXPECTS(level <= found->second.level, missing_key, reader_->name(), " has the ",
                    ckks::describe_key(ctx_.parameters(), galois_element), " for levels up to ",
                    found->second.level, " only, needed at level ", level, "; generate it for that level");
  return found->second;
}

std::size_t key_bundle_reader::bytes(std::uint64_t galois_element, unsigned level) const {
  const std::size_t halves = find(galois_element, level).sources.empty() ? 2 : 1;
  const auto& parameters = ctx_.parameters();
  std::size_t limbs = 0;
  for (const ckks::key_digit_layout& digit : ckks::key_layout(parameters, {galois_element, level})) {
    limbs += digit.limbs();
  }
  return halves * limbs * parameters.limb_bytes();
}

std::vector<byte_range> key_bundle_reader::parts_of(std::uint64_t galois_element, unsigned level) const {
  const key_entry& entry = find(galois_element, level);
  const auto& parameters = ctx_.parameters();
  std::vector<byte_range> out;
  const auto add = [&](const section_id& id, std::uint64_t bytes) {
    const section& from = reader_->at(id);
    // Whole blocks, as they are verified.
    const std::uint64_t blocks = (bytes + block_bytes - 1) / block_bytes;
    out.push_back({from.offset, std::min<std::uint64_t>(blocks * block_bytes, from.padded_bytes())});
  };
  const auto layouts = ckks::key_layout(parameters, {galois_element, level});
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const std::uint64_t bytes = layouts[i].limbs() * parameters.limb_bytes();
    add(half_b(galois_element, i), bytes);
    if (entry.sources.empty()) add(half_a(galois_element, i), bytes);
  }
  return out;
}

void key_bundle_reader::announce(std::uint64_t galois_element, unsigned level) const {
  reader_->prefetch(parts_of(galois_element, level));
}

ckks::evaluation_key key_bundle_reader::make(std::uint64_t galois_element, unsigned level,
                                             const half_reader& read) const {
  const key_entry& entry = find(galois_element, level);
  const auto layouts = ckks::key_layout(ctx_.parameters(), {galois_element, level});
  const auto half = [&](const section_id& id, const ckks::key_digit_layout& layout) {
    std::vector<std::uint64_t> moduli;
    for (const arith::window part : {layout.special, layout.chain}) {
      const auto primes = detail::moduli_of(ctx_, part);
      moduli.insert(moduli.end(), primes.begin(), primes.end());
    }
    return read(reader_->at(id), std::move(moduli));
  };
  ckks::evaluation_key key;
  key.home = ctx_.ring().home();
  key.galois_element = galois_element;
  key.level = level;
  key.id = id();
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    ckks::evaluation_key_digit& digit = key.digits.emplace_back();
    digit.b = half(half_b(galois_element, i), layouts[i]);
    if (entry.sources.empty()) {
      digit.a = half(half_a(galois_element, i), layouts[i]);
    } else {
      digit.source = entry.sources[i];
    }
  }
  return key;
}

ckks::evaluation_key key_bundle_reader::load(std::uint64_t galois_element, unsigned level) const {
  const std::vector<byte_range> parts = parts_of(galois_element, level);
  reader_->prefetch(parts);
  ckks::evaluation_key key =
      make(galois_element, level, [&](const section& from, const std::vector<std::uint64_t>& moduli) {
        memory::buffer half = allocate_half(ctx_, moduli.size());
        detail::read_limbs(*reader_, from, ctx_, half, moduli);
        return half;
      });
  reader_->forget(parts);
  return key;
}

ckks::evaluation_key key_bundle_reader::bind(std::uint64_t galois_element, unsigned level) const {
  const unsigned bits = ctx_.tables().word_bits;
  const std::size_t limb_bytes = ctx_.tables().limb_bytes();
  return make(galois_element, level, [&](const section& from, std::vector<std::uint64_t> moduli) {
    memory::buffer half = allocate_half(ctx_, moduli.size());
    ctx_.runtime().set_remote(
        half, std::make_shared<stored_half>(reader_, from,
                                            detail::residue_rule{bits, limb_bytes, std::move(moduli)}));
    return half;
  });
}

void save(const output& to, ckks::context& ctx, const ckks::memory_key_set& keys) {
  key_bundle_writer writer(to, ctx, keys.id());
  writer.reserve(keys.bytes());
  for (const auto& [element, key] : keys.keys()) writer.add(key);
  writer.finish();
}

ckks::memory_key_set load_evaluation_keys(const input& from, ckks::context& ctx) {
  const key_bundle_reader reader(from, ctx);
  ckks::memory_key_set keys(ctx.parameters(), reader.id());
  const std::vector<ckks::key_request> list = reader.list();
  for (std::size_t i = 0; i < list.size(); ++i) {
    // The next one is fetched while this one is unpacked.
    for (std::size_t next = i; next < std::min(i + 2, list.size()); ++next) {
      reader.announce(list[next].galois_element, list[next].level);
    }
    keys.add(reader.load(list[i].galois_element, list[i].level));
  }
  return keys;
}

}  // namespace halocline::io

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cuda/key/key_dot_piped.cuh"
#include "backend/cuda/key/key_seeded_choice.hpp"

/// Kernels of which the threads of a block meet at barriers, run on the host: all threads up to a barrier,
/// then all of them up to the next.
namespace halocline::test {

/// `stream_fill` on the host.
template <typename WordT, typename SourceT>
void fill_stream_tile(backend::cuda::retry_tile<WordT>& tile, const SourceT& source) {
  using namespace backend::cuda;
  for (auto& count : tile.count) count = 0;
  for (std::uint32_t j = 0; j < stream_blocks; ++j) {
    stream_miss(tile, 1, j, stream_first(tile, j, source(j)));
  }
  for (std::uint32_t attempt = 1; tile.count[attempt % 3] != 0; ++attempt) {
    tile.count[(attempt + 2) % 3] = 0;
    const std::uint32_t count = tile.count[attempt % 3];
    for (std::uint32_t e = 0; e < count; ++e) stream_retry(tile, attempt, e, source);
  }
}

/// The sums over neighbouring threads are kept in variables.
template <typename WordT, typename SourceT>
void fill_stream_tile(backend::cuda::spare_tile<WordT>& tile, const SourceT& source) {
  using namespace backend::cuda;
  constexpr auto blocks = static_cast<std::uint32_t>(arith::blocks_per_group);
  const std::uint32_t attempts = stream_attempts(source(0));
  ASSERT_TRUE(attempts >= 2 && attempts <= blocks && 32 % attempts == 0);
  for (std::uint32_t group = 0; group < stream_groups; ++group) {
    std::uint32_t before = 0;
    for (std::uint32_t j = group * blocks; j < (group + 1) * blocks; ++j) {
      const std::uint32_t rejected = stream_first(tile, j, source(j));
      stream_list(tile, j, rejected, before);
      before += static_cast<std::uint32_t>(std::popcount(rejected));
    }
    ASSERT_EQ(tile.missing[group], before);
    std::uint32_t taken = 0;
    for (std::uint32_t pass = 0; taken < tile.missing[group]; ++pass) {
      std::uint32_t accepted = 0;
      for (std::uint32_t lane = 0; lane < attempts; ++lane) {
        const auto drawn = stream_spare(source(group * blocks), 1 + pass * attempts + lane);
        stream_place(tile, group, taken + accepted, drawn);
        accepted += stream_accepted(drawn);
      }
      taken += accepted;
    }
  }
}

/// A block of the kernel of seeded keys, of `packs` blocks of words; `at_of(thread)` are coordinates.
/// `known`: the digits of all parts, 0: any.
template <stream_rule Rule, unsigned packs, unsigned known, typename WordT, typename AtT>
void seeded_key_tile(const backend::cuda::key_params<WordT>& p, const AtT& at_of) {
  using namespace backend::cuda;
  constexpr std::uint32_t round = key_rooms<packs>::digits;
  const auto shared = std::make_unique<key_shared<WordT, Rule>>();
  const std::uint32_t parts = key_parts(p, position_of(p, at_of(0)));
  ASSERT_TRUE(p.turned || parts == 1);
  for (std::uint32_t part = 0; part < parts; ++part) {
    std::vector<key_sums<WordT>> sums(packs * stream_blocks);
    const auto at = [&](unsigned k, std::uint32_t t) {
      coordinates of = at_of(t);
      of.block_x = of.block_x * packs + k;
      return position_of(p, of, part);
    };
    const auto from = [&](unsigned k, std::uint32_t t) {
      return p.turned ? key_source(p, at(k, t)) : at(k, t);
    };
    const auto each = [&](const auto& run) {
      for (std::uint32_t i = 0; i < packs * stream_blocks; ++i) run(i / stream_blocks, i % stream_blocks);
    };
    const std::uint32_t digits = p.jobs.items[at(0, 0).job + part].digits;
    ASSERT_TRUE(packs == 1 || digits <= round);
    for (std::uint32_t first = 0; first < digits; first += round) {
      each([&](unsigned k, std::uint32_t t) { key_fetch<packs, known>(p, from(k, t), k, first, *shared); });
      fill_stream_tile(shared->a, [&](std::uint32_t j) {
        const std::uint32_t room = j / key_blocks;
        return key_stream(p, from(room / round, 0), first + room % round, j % key_blocks);
      });
      each([&](unsigned k, std::uint32_t t) {
        key_add_group<packs, known>(p, from(k, t), k, first, *shared, sums[k * stream_blocks + t]);
      });
    }
    each([&](unsigned k, std::uint32_t t) {
      const key_sums<WordT>& sum = sums[k * stream_blocks + t];
      if (!p.turned) key_seeded_finish(p, at(k, t), sum);
      if (p.turned) key_seeded_keep(p, from(k, t), sum, key_exchange<packs>(*shared, k));
    });
    if (!p.turned) continue;
    each([&](unsigned k, std::uint32_t t) { key_turn(p, at(k, t), key_exchange<packs>(*shared, k)); });
  }
}

/// Calls `run` with the rule, the packs of a thread and the known digits of the kernel that a launch takes.
template <typename WordT, typename RunT>
void for_seeded_form(const backend::cuda::key_params<WordT>& p, const RunT& run) {
  constexpr stream_rule old = stream_rule::chacha20_retry, rule = stream_rule::chacha8_spare;
  if (p.rule == old) return run.template operator()<old, 1, 0>();
  const std::uint32_t known = backend::cuda::seeded_digits(p);
  if (backend::cuda::seeded_packs(p) == 2) {
    if (known == 1) return run.template operator()<rule, 2, 1>();
    return known == 2 ? run.template operator()<rule, 2, 2>() : run.template operator()<rule, 2, 0>();
  }
  if (known == 3) return run.template operator()<rule, 1, 3>();
  known == 4 ? run.template operator()<rule, 1, 4>() : run.template operator()<rule, 1, 0>();
}

/// The kernel of keys in memory with permutations.
template <typename WordT>
void turned_key_blocks(const backend::cuda::key_params<WordT>& p, std::uint32_t rows) {
  using namespace backend::cuda;
  constexpr std::uint32_t threads = 64;
  std::vector<pack<WordT>> exchange(2 * threads);
  for (std::uint32_t y = 0; y < rows; ++y) {
    for (std::uint32_t x = 0; x * threads * pack<WordT>::size < p.words; ++x) {
      for (std::uint32_t part = 0; part < key_parts(p, position_of(p, {x, y, 0, threads})); ++part) {
        const auto at = [&](std::uint32_t t) { return position_of(p, {x, y, t, threads}, part); };
        for (std::uint32_t t = 0; t < threads; ++t) {
          key_turned_body(p, key_source(p, at(t)), exchange.data());
        }
        for (std::uint32_t t = 0; t < threads; ++t) key_turn(p, at(t), exchange.data());
      }
    }
  }
}

/// All tiles of a launch; the rooms of all steps of a tile are filled before its threads begin.
template <typename ShapeT>
void emulate_key_dot_tiles(const backend::cuda::key_dot_params<typename ShapeT::word>& p) {
  using namespace backend::cuda;
  using WordT = typename ShapeT::word;
  const auto info = [&](std::uint32_t term) { return key_dot_info_of(p, term); };
  for (std::uint32_t index = 0; index < key_dot_tiles<ShapeT>(p); ++index) {
    const key_dot_tile<WordT> tile = key_dot_tile_at<ShapeT>(p, index);
    std::vector<std::vector<WordT>> rooms;
    for (std::uint32_t t = 0; t < p.all.terms; ++t) {
      const key_dot_info term = info(t);
      const std::uint32_t from = key_dot_source_tile<ShapeT>(p, term, tile.first);
      for (std::uint32_t k = 0; k < term.keys; k += ShapeT::step) {
        std::vector<WordT>& room = rooms.emplace_back();
        for (std::uint32_t key = k; key < std::min(k + ShapeT::step, term.keys); ++key) {
          for (unsigned piece = 0; piece < 3; ++piece) {
            const WordT* const words = key_dot_piece(p, tile, term, key, piece, from);
            room.insert(room.end(), words, words + ShapeT::tile);
          }
        }
      }
    }
    for (std::uint32_t thread = 0; thread < ShapeT::threads; ++thread) {
      std::size_t used = 0;
      key_dot_tile_body<ShapeT>(
          p, tile, thread, info, [&] { return rooms[used++].data(); }, [] {});
    }
  }
}

/// Tiles are small. N is at least 16.
template <typename WordT>
void piped_key_dot_tiles(const backend::cuda::key_dot_params<WordT>& p) {
  using namespace backend::cuda;
  if (p.all.sums > 4) return emulate_key_dot_tiles<key_dot_shape<WordT, key_dot_sums, 1, 8, 8, 2>>(p);
  p.all.sums > 2 ? emulate_key_dot_tiles<key_dot_shape<WordT, 4, 2, 8, 8, 4>>(p)
                 : emulate_key_dot_tiles<key_dot_shape<WordT, 2, 2, 8, 8, 3>>(p);
}

}  // namespace halocline::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend/cuda/convert/convert_plan.hpp"
#include "backend/cuda/elementwise/dot_plan.hpp"
#include "backend/cuda/elementwise/elementwise_run.hpp"
#include "backend/cuda/key/key_dot_plan.hpp"
#include "backend/cuda/key/key_plan.hpp"
#include "backend/cuda/stream/sample_plan.hpp"
#include "cuda_key_emulation.hpp"
#include "cuda_mma_emulation.hpp"
#include "halocline/backend/backend.hpp"

/// The elementwise, conversion, key and sampling kernels of the CUDA backend, run thread by thread on the
/// host. Planning and kernel bodies are the code that runs on a GPU; only the launch differs.
namespace halocline::test {

/// Runs `body(coordinates)` for every thread of a grid.
template <typename BodyT>
void for_each_thread(std::uint32_t blocks_x, std::uint32_t blocks_y, std::uint32_t threads,
                     const BodyT& body) {
  for (std::uint32_t y = 0; y < blocks_y; ++y) {
    for (std::uint32_t x = 0; x < blocks_x; ++x) {
      for (std::uint32_t t = 0; t < threads; ++t) body(backend::cuda::coordinates{x, y, t, threads});
    }
  }
}

/// Operations of one step for one word. Members as those of `cuda::executor`.
template <typename WordT>
class emulated_executor {
 public:
  emulated_executor(const backend::ring_tables& ring, const memory::access& at) : resolve_(ring, at) {}

  [[nodiscard]] const backend::cuda::resolver<WordT>& resolve() const { return resolve_; }
  void binary(backend::cuda::binary_kind kind, std::span<const backend::binary_job> jobs) const {
    run_binary(kind, resolve_, {}, jobs, map_{});
  }
  template <typename OpT>
  void unary(std::span<const backend::unary_job> jobs) const {
    backend::cuda::run_unary<OpT>(resolve_, {}, "", jobs, map_{});
  }
  void set_zero(std::span<const backend::limb_view> views) const { run_zero(resolve_, {}, views, map_{}); }
  void scalar(backend::cuda::scalar_kind kind, std::span<const backend::scalar_job> jobs) const {
    run_scalar(kind, resolve_, {}, jobs, map_{});
  }
  void linear_combine(std::span<const backend::linear_job> jobs) const {
    run_linear(resolve_, {}, jobs, map_{});
  }
  void dot(std::span<const backend::dot_job> jobs) const {
    const auto pairs = [](const auto& p, std::uint32_t rows) {
      rows_of(p, backend::cuda::half_pack<WordT>::size, rows, [&](const auto& at) { pair_body(p, at); });
    };
    const std::vector<backend::dot_job> rest = plan_pairs(resolve_, jobs, pairs);
    const auto single = [](const auto& p, std::uint32_t rows) {
      rows_of(p, pack::size, rows, [&](const auto& at) { dot_body(p, at); });
    };
    backend::cuda::plan_dot<WordT>(resolve_, {}, rest, single);
  }
  void keep(std::span<const backend::unary_job> jobs) const {
    plan_keep(resolve_, jobs, [](const auto& p, std::uint32_t rows) {
      rows_of(p, 1, rows, [&](const auto& at) { keep_body(p, at); });
    });
  }
  void tensor(std::span<const backend::tensor_job> jobs) const {
    plan_tensor(resolve_, {}, jobs, [](const auto& p, std::uint32_t rows) {
      rows_of(p, pack::size, rows, [&](const auto& at) { tensor_body(p, at, [] {}); });
    });
  }
  void automorphism(std::span<const backend::automorphism_job> jobs) const {
    plan_automorphism(resolve_, {}, jobs, [](const auto& p, std::uint32_t rows) {
      rows_of(p, 1, rows, [&](const auto& at) { automorphism_body(p, at); });
    });
  }
  void negacyclic_shift(std::span<const backend::shift_job> jobs) const {
    plan_shift(resolve_, jobs, [](const auto& p, std::uint32_t rows) {
      rows_of(p, 1, rows, [&](const auto& at) { shift_body(p, at); });
    });
  }
  void encode_expand(std::span<const backend::encode_job> jobs) const {
    plan_encode(resolve_, jobs, [](const auto& p, std::uint32_t rows) {
      rows_of(p, pack::size, rows, [&](const auto& at) { encode_body(p, at); });
    });
  }
  void sample_uniform(std::span<const backend::uniform_job> jobs) const {
    plan_sample(resolve_, jobs, [](const auto& p, std::uint32_t rows) {
      const auto with_rule = [&]<stream_rule Rule>() {
        for_each_tile(
            p, rows,
            [&](const auto& at_of) {
              const auto tile = std::make_unique<backend::cuda::stream_tile<WordT, Rule>>();
              fill_stream_tile(*tile, [&](std::uint32_t j) { return sample_source(p, at_of(0), j); });
              for (std::uint32_t t = 0; t < stream_blocks; ++t) sample_store(p, at_of(t), *tile);
            },
            arith::words_per_block<WordT>);
      };
      for_rule(p.rule, with_rule);
    });
  }
  void key_multiply_accumulate(std::span<const backend::key_job> jobs) const {
    plan_key(resolve_, {}, {}, false, jobs, [](const auto& p, std::uint32_t rows) {
      if (p.seeded) {
        for_seeded_form(p, [&]<stream_rule Rule, unsigned packs, unsigned known>() {
          for_each_tile(
              p, rows, [&](const auto& at_of) { seeded_key_tile<Rule, packs, known>(p, at_of); },
              packs * pack::size);
        });
      } else if (p.turned) {
        turned_key_blocks(p, rows);
      } else {
        rows_of(p, pack::size, rows, [&](const auto& at) { key_body(p, position_of(p, at)); });
      }
    });
  }
  void key_dot(std::span<const backend::key_dot_job> jobs, bool piped) const {
    using namespace backend::cuda;
    plan_key_dot(resolve_, {}, {}, piped ? 8 : 4, jobs, [&](const auto& p, std::uint32_t rows) {
      if (piped) return piped_key_dot_tiles(p);
      const std::uint32_t threads = std::min(16U, p.words / 2);
      for_each_thread(p.words / (2 * threads), rows, threads, [&](const auto& at) {
        if (p.all.most_keys <= 1) return key_dot_body<WordT, 4, 4>(p, at);
        p.all.most_keys == 2 ? key_dot_body<WordT, 4, 2>(p, at) : key_dot_body<WordT, 4, 1>(p, at);
      });
    });
  }
  void base_convert(std::span<const backend::convert_job> jobs) const {
    plan_convert(resolve_, {}, jobs, [](const auto& p, std::uint32_t rows) {
      std::vector<WordT> y(backend::cuda::convert_shared_bytes / sizeof(WordT));
      for (std::uint32_t job = 0; job < rows; ++job) {
        for (std::uint32_t x = 0; x < p.words / p.tile; ++x) {
          for_each_in_block(x, job, [&](const auto& at) { convert_scale_sources(p, at, y.data()); });
          for_each_in_block(x, job, [&](const auto& at) { convert_round(p, at, y.data()); });
          for_each_in_block(x, job, [&](const auto& at) { convert_sum(p, at, y.data()); });
        }
      }
    });
  }
  /// With matrix instructions. Returns how many launches took the scalar kernel instead, which is not run.
  std::size_t base_convert_mma(std::span<const backend::convert_job> jobs) const {
    std::size_t scalar = 0;
    plan_convert(resolve_, {}, jobs, [&](auto& p, std::uint32_t rows) {
      if constexpr (sizeof(WordT) == 4) {
        const std::uint32_t steps = mma_steps(p);
        p.tile = backend::cuda::mma_tile(p.words, rows, 4);
        if (steps == 1) emulate_conversion<1>(p, rows);
        if (steps == 2) emulate_conversion<2>(p, rows);
        if (steps == 3) emulate_conversion<3>(p, rows);
        if (steps == 4) emulate_conversion<4>(p, rows);
        if (steps == 0) ++scalar;
      }
    });
    return scalar;
  }

 private:
  template <typename BodyT>
  static void for_rule(stream_rule rule, const BodyT& body) {
    if (rule == stream_rule::chacha20_retry) {
      body.template operator()<stream_rule::chacha20_retry>();
    } else {
      body.template operator()<stream_rule::chacha8_spare>();
    }
  }
  using pack = backend::cuda::pack<WordT>;
  static constexpr std::uint32_t stream_blocks = backend::cuda::stream_blocks;

  /// Runs `body(at_of)`, `at_of(thread)` being coordinates, for every block of a grid whose threads take
  /// `per_thread` words.
  template <typename ParamsT, typename BodyT>
  static void for_each_tile(const ParamsT& p, std::uint32_t rows, const BodyT& body, std::size_t per_thread) {
    const auto words = static_cast<std::uint32_t>(stream_blocks * per_thread);
    for (std::uint32_t y = 0; y < rows; ++y) {
      for (std::uint32_t x = 0; x < (p.words + words - 1) / words; ++x) {
        body([&](std::uint32_t t) { return backend::cuda::coordinates{x, y, t, stream_blocks}; });
      }
    }
  }
  template <typename ParamsT, typename BodyT>
  static void rows_of(const ParamsT& p, std::uint32_t per_thread, std::uint32_t rows, const BodyT& body) {
    const auto shape = backend::cuda::shape_of(p.words, per_thread, 256);
    for_each_thread(shape.blocks, rows, shape.threads, body);
  }
  struct map_ {
    template <typename OpT, typename ParamsT>
    void operator()(OpT, const char*, const ParamsT& p, std::uint32_t limbs) const {
      rows_of(p, pack::size, limbs, [&](const auto& at) { backend::cuda::map_body<OpT>(p, at, [] {}); });
    }
  };

  backend::cuda::resolver<WordT> resolve_;
};

}  // namespace halocline::test

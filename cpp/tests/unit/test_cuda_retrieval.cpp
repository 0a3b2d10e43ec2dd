// SPDX-License-Identifier: Apache-2.0
// Kernels of private retrieval that compute words from words, run on the host.
#include <gtest/gtest.h>

#include "backend/cuda/retrieval/answers.cuh"
#include "backend/cuda/retrieval/digit_product.cuh"
#include "backend/cuda/retrieval/digits.cuh"
#include "backend/cuda/retrieval/points.cuh"
#include "backend/cuda/retrieval/retrieval_plan.hpp"
#include "cuda_retrieval_rig.hpp"
#include "halocline/ring/automorphism.hpp"

namespace {

using namespace halocline;
using namespace halocline::backend;
using namespace halocline::test;

class CudaRetrieval : public cuda_retrieval_rig {
 protected:
  /// Launches a body of four words per thread, as exec_retrieval.cu does.
  template <auto body>
  static auto limbs_launch() {
    return [](const auto& p, std::uint64_t units) {
      for_grid(cuda::blocks_of_limbs(units, p.log_n, 256), p.jobs, 256,
               [&](const cuda::coordinates& at) { body(p, at); });
    };
  }
};

constexpr unsigned sizes[] = {5, 7, 11};
const std::vector<double> rings[] = {{30, 30, 29.5}, {27, 26.5}, {30}};
/// More jobs than one launch takes.
constexpr std::uint32_t many = 70;
std::uint32_t jobs_of(unsigned log_n) { return log_n == 5 ? many : 3; }

TEST_F(CudaRetrieval, SubtractsArrays) {
  for (const unsigned log_n : sizes) {
    for (const auto& bits : rings) {
      begin(log_n, bits);
      std::vector<array_sub_job> cpu, emulated;
      for (std::uint32_t i = 0; i < jobs_of(log_n); ++i) {
        const std::uint32_t count = 1 + i % 5;
        const poly_array a = operand(count, 2), b = operand(count, 2);
        const auto dst = destination(count, 2, i % 3 == 1 ? &a : i % 3 == 2 ? &b : nullptr);
        cpu.push_back({dst.cpu, i % 3 == 1 ? dst.cpu : a, i % 3 == 2 ? dst.cpu : b, count});
        emulated.push_back(
            {dst.emulated, i % 3 == 1 ? dst.emulated : a, i % 3 == 2 ? dst.emulated : b, count});
      }
      cpu_->array_sub(tables(), cpu);
      emulate([&](const auto& at) {
        plan_array_sub(at, std::span<const array_sub_job>(emulated), limbs_launch<cuda::array_sub_body>());
      });
    }
  }
}

/// Jobs with the same factors, with others, and with more of them than one launch takes.
TEST_F(CudaRetrieval, ScalesArrays) {
  for (const unsigned log_n : sizes) {
    for (const auto& bits : {rings[0], rings[1], std::vector<double>(12, 30)}) {
      begin(log_n, bits);
      std::vector<array_scale_job> cpu, emulated;
      for (std::uint32_t i = 0; i < jobs_of(log_n); ++i) {
        const std::uint32_t count = 1 + i % 3;
        const poly_array src = operand(count, 2);
        const auto dst = destination(count, 2, i % 2 == 1 ? &src : nullptr);
        cpu.push_back(
            {dst.cpu, i % 2 == 1 ? dst.cpu : src, count, i % 4 == 3 ? cpu.back().factors : factors()});
        emulated.push_back({dst.emulated, i % 2 == 1 ? dst.emulated : src, count, cpu.back().factors});
      }
      cpu_->array_scale(tables(), cpu);
      emulate([&](const auto& at) {
        plan_array_scale(at, std::span<const array_scale_job>(emulated),
                         limbs_launch<cuda::array_scale_body>());
      });
    }
  }
}

TEST_F(CudaRetrieval, SplitsIntoDigits) {
  const digit_split splits[] = {{1, 30}, {8, 4}, {4, 8}, {2, 15}, {3, 12}};
  for (const unsigned log_n : sizes) {
    for (const auto& bits : rings) {
      for (const digit_split& split : splits) {
        begin(log_n, bits);
        std::vector<split_job> cpu, emulated;
        for (std::uint32_t i = 0; i < (log_n == 5 ? 66 : 2); ++i) {
          const std::uint32_t count = 1 + i % 3;
          const auto dst = destination(count * limbs() * split.digits, 1, nullptr, split.digits % 2);
          cpu.push_back({dst.cpu, operand(count, 1), count, split});
          emulated.push_back(cpu.back());
          emulated.back().dst = dst.emulated;
        }
        cpu_->split_digits(tables(), cpu);
        emulate([&](const auto& at) {
          plan_split(at, std::span<const split_job>(emulated), limbs_launch<cuda::split_body>());
        });
      }
    }
  }
}

/// One term to 64 (several reductions), one entry to more than a block has, addends, permutations, in place.
TEST_F(CudaRetrieval, MultipliesDigits) {
  for (const unsigned log_n : sizes) {
    for (const auto& bits : rings) {
      begin(log_n, bits);
      std::vector<digit_product_job> cpu, emulated;
      for (const std::uint32_t terms : {1U, 4U, 12U, 13U, 24U, 25U, log_n == 11 ? 7U : 64U}) {
        const std::uint32_t count = terms == 4 ? 19 : terms % 3 + 1;
        digit_product_job job{{}, operand(count * terms, 1), operand(terms, 2), terms, count};
        if (terms % 2 == 0) job.plus0 = operand(count, 1);
        if (terms == 12) job.plus1 = operand(count, 1);
        if (terms % 4 != 0) {
          job.permutation = keep(ring::automorphism_permutation(random_() % (2 * n()) | 1, log_n));
        }
        auto dst = destination(count, 2);
        if (terms == 64) {  // in place: plus0 and plus1 are dst
          const poly_array before = operand(count, 2);
          dst = destination(count, 2, &before);
        }
        for (auto* jobs : {&cpu, &emulated}) {
          job.dst = jobs == &cpu ? dst.cpu : dst.emulated;
          if (terms == 64) {
            job.plus0 = job.plus1 = job.dst;
            job.plus1.first += limbs();
          }
          jobs->push_back(job);
        }
      }
      cpu_->digit_product(tables(), cpu);
      emulate([&](const auto& at) {
        plan_product(at, std::span<const digit_product_job>(emulated),
                     [](const cuda::product_params& p, std::uint64_t entries) {
                       for_grid(product_blocks(p, entries), p.jobs, 32 * cuda::product_warps,
                                [&](const cuda::coordinates& place) { product_body(p, place); });
                     });
      });
    }
  }
}

TEST_F(CudaRetrieval, MakesChildren) {
  for (const unsigned log_n : sizes) {
    for (const auto& bits : rings) {
      begin(log_n, bits);
      std::vector<children_job> cpu, emulated;
      for (std::uint32_t i = 0; i < jobs_of(log_n); ++i) {
        const std::uint32_t children = 1 + i % 6, parents = (children + 1) / 2;
        const auto dst = destination(children, 2);
        cpu.push_back({dst.cpu, operand(parents, 2), operand(parents, 2), operand(1, 1), children});
        emulated.push_back(cpu.back());
        emulated.back().dst = dst.emulated;
      }
      cpu_->expand_children(tables(), cpu);
      emulate([&](const auto& at) {
        plan_children(at, std::span<const children_job>(emulated), limbs_launch<cuda::children_body>());
      });
    }
  }
}

TEST_F(CudaRetrieval, TurnsPoints) {
  for (const unsigned log_n : sizes) {
    for (const auto& bits : rings) {
      begin(log_n, bits);
      std::vector<turn_job> cpu, emulated;
      for (std::uint32_t i = 0; i < (log_n == 5 ? 66 : 4); ++i) {
        const std::uint32_t count = 1 + i * 17 % 40, step = 1 + i % 3, first = i % 2;
        const std::uint32_t rows = first + (count - 1) * step + 1 + i % 3;
        const twin both = twice(std::vector<word>(std::size_t{rows} * limbs() * n(), 0xa5a5a5a5));
        cpu.push_back({{both.cpu, rows}, first, step, operand(count, 1), count});
        emulated.push_back(cpu.back());
        emulated.back().dst.data = both.emulated;
      }
      cpu_->turn_points(tables(), cpu);
      emulate([&](const auto& at) {
        plan_turn(at, std::span<const turn_job>(emulated),
                  [](const cuda::turn_params& p, std::uint64_t polynomials) {
                    for_grid(turn_tiles(p, polynomials), p.jobs, cuda::turn_threads,
                             [&](const cuda::coordinates& place) { turn_body(p, place); });
                  });
      });
    }
  }
}

TEST_F(CudaRetrieval, RoundsAnswers) {
  for (const unsigned log_n : sizes) {
    for (const auto& bits : {rings[0], rings[1], rings[2], std::vector<double>{30, 30, 30, 29.5, 27}}) {
      begin(log_n, bits);
      std::vector<round_answer_job> cpu, emulated;
      for (std::uint32_t i = 0; i < jobs_of(log_n); ++i) {
        const std::uint32_t count = 1 + i % 3, first = i % 2;
        const twin both = twice(std::vector<std::uint64_t>((first + count) * 2 * n(), 0xa5a5));
        const unsigned small = 1 + i % 63, large = 63 - i % 20;
        cpu.push_back({both.cpu, first, operand(count, 2), count, {small, large}});
        emulated.push_back(cpu.back());
        emulated.back().dst = both.emulated;
      }
      cpu_->round_answer(tables(), cpu);
      emulate([&](const auto& at) {
        plan_round(at, std::span<const round_answer_job>(emulated), limbs_launch<cuda::round_body>());
      });
    }
  }
}

/// Every width, offsets and strides that are no multiples of four, sources that end early.
TEST_F(CudaRetrieval, UnpacksPlaintexts) {
  for (const unsigned log_n : sizes) {
    for (const auto& bits : rings) {
      begin(log_n, bits);
      std::vector<unpack_job> cpu, emulated;
      for (unsigned width = 2; width <= 32; ++width) {
        const std::uint32_t count = 1 + width % 3;
        const auto most = static_cast<std::uint32_t>(n() * width / 8);
        const std::uint32_t bytes = width % 4 == 0 ? most : 1 + static_cast<std::uint32_t>(random_() % most);
        const std::uint64_t offset = width % 5, stride = bytes + width % 3;
        std::vector<std::uint8_t> packed(offset + (count - 1) * stride + bytes);
        for (auto& byte : packed) byte = static_cast<std::uint8_t>(random_());
        const auto dst = destination(count, 1);
        cpu.push_back({dst.cpu, keep(packed), offset, stride, bytes, count, width, factors()});
        emulated.push_back(cpu.back());
        emulated.back().dst = dst.emulated;
      }
      cpu_->unpack_plain(tables(), cpu);
      emulate([&](const auto& at) {
        plan_unpack(at, std::span<const unpack_job>(emulated), limbs_launch<cuda::unpack_body>());
      });
    }
  }
}

}  // namespace

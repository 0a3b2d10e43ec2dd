// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/device/launcher.hpp"
#include "backend/cuda/ntt/ntt_params.hpp"
#include "backend/cuda/ntt/ntt_tuning.hpp"

namespace halocline::backend::cuda {

/// Launches the forward transforms of a parameter block whose groups, tables and log_n are set; at most
/// `choice.polys` polynomials per group.
template <typename WordT>
void launch_ntt(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params);
/// Their first phase alone, in rings of 2^16.
void launch_ntt_columns(const launcher& launch, plain_ntt_params<std::uint32_t>& params);
/// Inverse transforms.
template <typename WordT>
void launch_intt(const launcher& launch, const ntt_choice& choice, plain_ntt_params<WordT>& params);
/// Forward transforms of the sources (which are overwritten unless the ring is small), combined with a; of
/// what is converted where `params.sources` is not 0.
template <typename WordT>
void launch_ntt_combine(const launcher& launch, const ntt_choice& choice, combine_params<WordT>& params);
/// The same for reduced limbs, which `launch_ntt_combine` calls.
template <typename WordT>
void launch_combine_reduced(const launcher& launch, const ntt_choice& choice, combine_params<WordT>& params);
/// Forward transforms of reduced limbs, whose src is dst.
template <typename WordT>
void launch_ntt_reduced(const launcher& launch, const ntt_choice& choice, reduced_params<WordT>& params);

}  // namespace halocline::backend::cuda

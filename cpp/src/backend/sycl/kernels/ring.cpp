// SPDX-License-Identifier: Apache-2.0
// Not part of the build: the text that the SYCL runtime compiles (runtime/kernel_images.cpp).
#include "client.hpp"
#include "elementwise.hpp"
#include "ntt.hpp"
#include "rns.hpp"

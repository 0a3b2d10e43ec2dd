// SPDX-License-Identifier: Apache-2.0
#include "default_primes.hpp"

namespace seal::halocline_detail {
namespace {

/// The primes are those that the public function of SEAL 4.4 returns; programs get the same parms_id with
/// them.
constexpr default_row rows[] = {
    {1024, 128, 27, {0x7e00001}},
    {1024, 192, 19, {0x7f001}},
    {1024, 256, 14, {0x3001}},
    {2048, 128, 54, {0x3fffffff000001}},
    {2048, 192, 37, {0x1ffffc0001}},
    {2048, 256, 29, {0x1ffc0001}},
    {4096, 128, 109, {0xffffee001, 0xffffc4001, 0x1ffffe0001}},
    {4096, 192, 75, {0x1ffc001, 0x1fce001, 0x1fc0001}},
    {4096, 256, 58, {0x3ffffffff040001}},
    {8192, 128, 218, {0x7fffffd8001, 0x7fffffc8001, 0xfffffffc001, 0xffffff6c001, 0xfffffebc001}},
    {8192, 192, 152, {0x3ffffac001, 0x3ffff54001, 0x3ffff48001, 0x3ffff28001}},
    {8192, 256, 118, {0x7ffffec001, 0x7ffffb0001, 0xfffffdc001}},
    {16384,
     128,
     438,
     {0xfffffffd8001, 0xfffffffa0001, 0xfffffff00001, 0x1fffffff68001, 0x1fffffff50001, 0x1ffffffee8001,
      0x1ffffffea0001, 0x1ffffffe88001, 0x1ffffffe48001}},
    {16384,
     192,
     305,
     {0x3ffffffdf0001, 0x3ffffffd48001, 0x3ffffffd20001, 0x3ffffffd18001, 0x3ffffffcd0001, 0x3ffffffc70001}},
    {16384, 256, 237, {0x7ffffffc8001, 0x7ffffff00001, 0x7fffffe70001, 0xfffffffd8001, 0xfffffffa0001}},
    {32768,
     128,
     881,
     {0x7fffffffe90001, 0x7fffffffbf0001, 0x7fffffffbd0001, 0x7fffffffba0001, 0x7fffffffaa0001,
      0x7fffffffa50001, 0x7fffffff9f0001, 0x7fffffff7e0001, 0x7fffffff770001, 0x7fffffff380001,
      0x7fffffff330001, 0x7fffffff2d0001, 0x7fffffff170001, 0x7fffffff150001, 0x7ffffffef00001,
      0xfffffffff70001}},
    {32768,
     192,
     611,
     {0x3fffffffd60001, 0x3fffffffca0001, 0x3fffffff6d0001, 0x3fffffff5d0001, 0x3fffffff550001,
      0x7fffffffe90001, 0x7fffffffbf0001, 0x7fffffffbd0001, 0x7fffffffba0001, 0x7fffffffaa0001,
      0x7fffffffa50001}},
    {32768,
     256,
     476,
     {0xffffffff00001, 0x1fffffffe30001, 0x1fffffffd80001, 0x1fffffffd10001, 0x1fffffffc50001,
      0x1fffffffbf0001, 0x1fffffffb90001, 0x1fffffffb60001, 0x1fffffffa50001}},
};

}  // namespace

const default_row* find_row(std::size_t degree, int security) noexcept {
  for (const default_row& row : rows) {
    if (row.degree == degree && row.security == security) return &row;
  }
  return nullptr;
}

}  // namespace seal::halocline_detail

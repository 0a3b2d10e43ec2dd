// SPDX-License-Identifier: Apache-2.0
// Models that come with the library. H200: measured by this project on 2026-11-20 (one H200, CUDA 13.0),
// unless the source says otherwise. Other devices: capacity and bandwidth of the public data sheet; what
// depends on the driver and the host processor is taken over from the H200 and is an estimate.
#include <map>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/memory/sim/device_model.hpp"

namespace halocline::memory::sim {
namespace {

constexpr double giga = 1e9;
constexpr double tera = 1e12;
constexpr double gib = 1 << 30;

struct constant {
  const char* name;
  double value;
  const char* source;
};

/// What differs between devices other than the H200.
struct data_sheet {
  const char* name;
  double capacity_bytes;
  const char* capacity_source;
  double link_bytes_per_s;
  const char* link_source;
  double memory_bytes_per_s;
  const char* memory_source;
  double single_tflops;
};

constexpr double h200_memory = 3.98 * tera;
constexpr double h200_tflops = 67;
constexpr double h200_expand = 1.04 * tera;
constexpr double h200_encode = 0.46 * tera;

constexpr const char* paper_share =
    "5 % of the capacity: async allocation beyond 95 % fails (hybrid paper III-B)";
constexpr const char* as_h200 = "estimate: as on the H200, done by driver and host processor";

constexpr constant h200_constants[] = {
    {"capacity_bytes", 141 * giga, "data sheet: 141 GB"},
    {"reserved_bytes", 0.05 * 141 * giga, paper_share},
    {"load_bytes_per_s", 55.5 * giga, "measured: pinned host to device, PCIe 5 x16"},
    {"store_bytes_per_s", 55.4 * giga, "measured: device to pinned host"},
    {"both_bytes_per_s", 101.7 * giga, "measured: both directions at once, total"},
    {"copy_us", 2.6, "derived: pinned copies of 512 KiB reach 43.8 GB/s and of 2 MiB 51.8 GB/s"},
    {"launch_us", 2.8, "measured: empty launch (Cheddar takes 7.1 us per launch, allocations included)"},
    {"queue_depth", 1024, "estimate: launches that CUDA lets pend on a stream"},
    {"memory_bytes_per_s", h200_memory, "measured: copy kernel, read and write"},
    {"pool_allocate_us", 1.5, "estimate: cudaMallocAsync; allocate, touch, free and wait measured 10 to 12"},
    {"pool_free_us", 1, "estimate: cudaFreeAsync; see pool_allocate_us"},
    {"plain_allocate_us", 40, "measured with free and touch, split estimated: 62 us at 16 MiB"},
    {"plain_allocate_us_per_mib", 0.34, "measured: 62, 87 and 144 us at 16, 64 and 256 MiB"},
    {"plain_free_us", 16, "see plain_allocate_us"},
    {"managed_allocate_us", 20, "measured with free and touch, split estimated: 125 us at 1 MiB"},
    {"managed_free_us", 20, "see managed_allocate_us"},
    {"block_bytes", 2097152, "NVIDIA open kernel modules 595: UVM_VA_BLOCK_BITS 21"},
    {"fault_page_bytes", 65536, "NVIDIA open kernel modules 595: big page of 64 KiB"},
    {"fault_batch", 256, "NVIDIA open kernel modules 595: default batch"},
    {"fault_batch_us", 30, "literature: far faults cost 20 to 50 us (Zheng, HPCA 2016)"},
    {"migrate_us_per_mib", 98.4, "measured: 1 GiB migrates by faults at 8.8 GB/s; link and batches deducted"},
    {"populate_us_per_mib", 62, "measured: allocate, touch, free 125, 1018, 4049, 17816 us at 1 to 256 MiB"},
    {"evict_us_per_mib", 25.1,
     "estimate: as cudaMemPrefetchAsync to the host, measured 23.8 GB/s, link deducted"},
    {"prefetch_us_per_mib", 1.7, "measured: cudaMemPrefetchAsync in 51.0 GB/s, link deducted"},
    {"remote_bytes_per_s", 51.4 * giga, "measured: zero-copy reads of a kernel"},
    {"expand_bytes_per_s", h200_expand,
     "measured: sample_uniform of 47 limbs (12.3 MB, chacha8_spare) in 11.9 us, "
     "cpp/bench/results/h200/kernels.json"},
    {"encode_bytes_per_s", h200_encode,
     "derived: encode_expand and NTT of 47 limbs (12.3 MB) in 10.9 and 15.9 us"},
};

void set(device_model& to, const char* name, double value, std::string source) {
  for (const device_field& each : device_fields()) {
    if (each.name == name) to.*each.member = value;
  }
  to.sources[name] = std::move(source);
}

/// Costs of operations relative to the memory rate: those of this library on an H200 at N = 2^16 with 32-bit
/// words, fitted by tools/fit_gpu_model.py. The copies run at the rate of the link.
void set_operations(device_model& to, const std::string& suffix) {
  const std::string ntt = "measured: NTT of a polynomial 15.9 and 9.7 us at 47 and 23 limbs" + suffix;
  const std::string kernels = "measured at 47 and 23 limbs: cpp/bench/results/h200/kernels.json" + suffix;
  const std::string fitted =
      "fitted: the rest of rotations of 263 and 125 us, multiplications of 276 and 132 us and "
      "rescalings of 45.8 and 26.3 us at 47 and 23 limbs" +
      suffix;
  to.other = {1, 0, 0.71, "measured: addition 14.3 and 6.0 us at 47 and 23 limbs" + suffix};
  to.operations["ntt"] = {2, 3.7, 1.98, ntt};
  to.operations["intt"] = {2, 3.7, 1.98, "estimate: as the NTT; " + ntt};
  to.operations["base_convert"] = {1, 2.5, 1.43, kernels};
  to.operations["dot"] = {1, 3.4, 0.9, kernels};
  to.operations["tensor"] = {1, 0, 0.94, kernels};
  to.operations["automorphism"] = {1, 0, 0.98, kernels};
  to.operations["encode_expand"] = {1, 1.6, 2.78, kernels};
  to.operations["key_multiply_accumulate"] = {1, 14.3, 1.04, fitted};
  to.operations["key_multiply_accumulate:seeded"] = {
      1, 25.7, 1.27,
      "fitted: key_multiply_accumulate, and 4.0 and 9.7 us that kernels with seeded keys take longer at 47 "
      "and 23 limbs: cpp/bench/results/h200/kernels.json" +
          suffix};
  to.operations["key_multiply_accumulate:transforming"] = {
      2, 5.8, 1.39,
      "measured at 47 and 23 limbs, with the first phase of the transforms: "
      "cpp/bench/results/h200/key_rows.json" +
          suffix};
  to.operations["key_dot"] = {1, 40, 1.5,
                              "fitted: 429 us for 1.04 GB, 358 us for 0.69 GB and 163 us for 0.20 GB, kernel "
                              "profile of a bootstrap with stc_first and from_sparse" +
                                  suffix};
  to.operations["ntt_linear_combine"] = {2, 3.8, 3.07, fitted};
  to.operations["sample_uniform"] = {1, 1.4, to.memory_bytes_per_s / to.expand_bytes_per_s,
                                     "derived: expand_bytes_per_s"};
  to.operations["upload"] = {1, to.copy_us, to.memory_bytes_per_s / to.load_bytes_per_s,
                             "derived: load_bytes_per_s"};
  to.operations["download"] = {1, to.copy_us, to.memory_bytes_per_s / to.store_bytes_per_s,
                               "derived: store_bytes_per_s"};
}

device_model make_h200() {
  device_model result;
  result.name = "h200";
  for (const constant& each : h200_constants) set(result, each.name, each.value, each.source);
  set_operations(result, "");
  return result;
}

device_model make_device(const data_sheet& sheet) {
  device_model result;
  result.name = sheet.name;
  for (const constant& each : h200_constants) set(result, each.name, each.value, as_h200);
  for (const char* name :
       {"block_bytes", "fault_page_bytes", "fault_batch", "fault_batch_us", "queue_depth"}) {
    for (const constant& each : h200_constants) {
      if (std::string_view(each.name) == name) result.sources[name] = each.source;
    }
  }
  const double link = sheet.link_bytes_per_s;
  const double rate = sheet.memory_bytes_per_s;
  set(result, "capacity_bytes", sheet.capacity_bytes, sheet.capacity_source);
  set(result, "reserved_bytes", 0.05 * sheet.capacity_bytes, paper_share);
  set(result, "load_bytes_per_s", link, sheet.link_source);
  set(result, "store_bytes_per_s", link, sheet.link_source);
  set(result, "both_bytes_per_s", link * 101.7 / 55.5, "estimate: the ratio of the H200");
  set(result, "memory_bytes_per_s", rate, sheet.memory_source);
  set(result, "remote_bytes_per_s", link * 51.4 / 55.5, "estimate: the ratio to the link of the H200");
  set(result, "expand_bytes_per_s", h200_expand * sheet.single_tflops / h200_tflops,
      "estimate: the H200's by peak single precision of the data sheets");
  set(result, "encode_bytes_per_s", h200_encode * rate / h200_memory, "estimate: the H200's by memory rate");
  set_operations(result, " on an H200; estimate: scaled by memory rate");
  return result;
}

constexpr const char* pcie3 = "estimate: 12 GB/s of the 15.75 of PCIe 3 x16";
constexpr const char* pcie4 = "estimate: 25 GB/s of the 31.5 of PCIe 4 x16";
constexpr const char* sheet_rate =
    "estimate: 83 % of the data sheet's bandwidth, the share that the H200 reaches";

const std::map<std::string, device_model, std::less<>>& all() {
  // Never destroyed: threads may be at work while the program ends.
  static const auto& models = *new std::map<std::string, device_model, std::less<>>([] {
    std::map<std::string, device_model, std::less<>> result;
    result.emplace("h200", make_h200());
    for (const data_sheet& sheet : {
             data_sheet{"gtx1050", 2 * gib, "data sheet: 2 GB", 12 * giga, pcie3, 0.83 * 112 * giga,
                        sheet_rate, 1.86},
             data_sheet{"gtx1660ti", 6 * gib, "data sheet: 6 GB", 12 * giga, pcie3, 0.83 * 288 * giga,
                        sheet_rate, 5.4},
             data_sheet{
                 "rtx4090", 24 * gib, "data sheet: 24 GB", 25 * giga, pcie4, 2.7 * tera,
                 "estimate: a bootstrap of 31 ms against 21.3 ms on the H200 (midpoint of the "
                 "published A100 and RTX 5090); above the bandwidth of 1.0 TB/s because of 72 MB of L2",
                 82.6},
             data_sheet{"a40", 48 * giga, "data sheet: 48 GB", 25 * giga, pcie4, 0.83 * 696 * giga,
                        sheet_rate, 37.4},
         }) {
      result.emplace(sheet.name, make_device(sheet));
    }
    for (const auto& [name, model] : result) validate(model);
    return result;
  }());
  return models;
}

}  // namespace

std::vector<std::string> device_names() { return {"gtx1050", "gtx1660ti", "rtx4090", "a40", "h200"}; }

const device_model& device_by_name(std::string_view name) {
  const auto found = all().find(name);
  if (found != all().end()) return found->second;
  std::string known;
  for (const std::string& each : device_names()) known += (known.empty() ? "" : ", ") + each;
  throw invalid_argument(text("unknown device model '", name, "'; this build has: ", known,
                              "; other devices are read from JSON"));
}

}  // namespace halocline::memory::sim

// SPDX-License-Identifier: Apache-2.0
#include "seal/batchencoder.h"

namespace seal {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("BatchEncoder: BFV and BGV are not supported; this library computes with CKKS");
}

}  // namespace

BatchEncoder::BatchEncoder(const SEALContext& context) {
  if (!context.parameters_set()) {
    throw std::invalid_argument(std::string("encryption parameters are not set correctly: ") +
                                context.parameter_error_message());
  }
  if (context.first_context_data()->parms().scheme() == scheme_type::ckks) {
    throw std::invalid_argument("unsupported scheme: BatchEncoder is for BFV and BGV");
  }
  refuse();
}

void BatchEncoder::encode(const std::vector<std::uint64_t>&, Plaintext&) const { refuse(); }
void BatchEncoder::encode(const std::vector<std::int64_t>&, Plaintext&) const { refuse(); }
void BatchEncoder::decode(const Plaintext&, std::vector<std::uint64_t>&, MemoryPoolHandle) const { refuse(); }
void BatchEncoder::decode(const Plaintext&, std::vector<std::int64_t>&, MemoryPoolHandle) const { refuse(); }
void BatchEncoder::encode(std::span<const std::uint64_t>, Plaintext&) const { refuse(); }
void BatchEncoder::encode(std::span<const std::int64_t>, Plaintext&) const { refuse(); }
void BatchEncoder::decode(const Plaintext&, std::span<std::uint64_t>, MemoryPoolHandle) const { refuse(); }
void BatchEncoder::decode(const Plaintext&, std::span<std::int64_t>, MemoryPoolHandle) const { refuse(); }

}  // namespace seal

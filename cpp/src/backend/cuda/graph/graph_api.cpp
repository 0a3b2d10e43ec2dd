// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/graph/graph_api.hpp"

#include "backend/cuda/device/launcher.hpp"

#include <string>
#include <vector>

#include "halocline/core/expects.hpp"

namespace halocline::backend::cuda {
namespace {

dim3 dim(const graph::extent& e) { return {e.x, e.y, e.z}; }

std::string kernel_name(const graph::launch& each) { return text(each.op, " (kernel ", each.name, ")"); }

/// Calls `body` with the parameters of a kernel node.
template <typename BodyT>
void with_node(const graph::launch_list& list, std::size_t i, const BodyT& body) {
  const graph::launch& each = list.at(i);
  void* arguments[] = {const_cast<void*>(list.params(i))};
  cudaKernelNodeParams node{};
  node.func = const_cast<void*>(each.function);
  node.gridDim = dim(each.grid);
  node.blockDim = dim(each.block);
  node.sharedMemBytes = static_cast<unsigned>(each.shared_bytes);
  node.kernelParams = arguments;
  body(node);
}

class cuda_graph final : public graph::executable {
 public:
  cuda_graph(const device_context& device, const graph::launch_list& list)
      : device_(device),
        what_(text("graph of ", list.size(), " kernels from ", kernel_name(list.at(0)), " to ",
                   kernel_name(list.at(list.size() - 1)))) {
    try {
      make(list);
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~cuda_graph() override { destroy(); }
  cuda_graph(const cuda_graph&) = delete;
  cuda_graph& operator=(const cuda_graph&) = delete;

  void patch(const graph::launch_list& list, std::size_t i) override {
    with_node(list, i, [&](const cudaKernelNodeParams& node) {
      const cudaError_t state = cudaGraphExecKernelNodeSetParams(ready_, nodes_[i], &node);
      if (state != cudaSuccess) check(state, text("change ", kernel_name(list.at(i)), " in a graph"));
    });
  }
  void launch() override {
    const cudaError_t state = cudaGraphLaunch(ready_, device_.compute());
    if (state != cudaSuccess) check(state, what_);
  }

 private:
  void make(const graph::launch_list& list) {
    check(cudaGraphCreate(&graph_, 0), what_);
    nodes_.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      with_node(list, i, [&](const cudaKernelNodeParams& node) {
        cudaGraphNode_t added = nullptr;
        cudaError_t state = cudaGraphAddKernelNode(&added, graph_, nullptr, 0, &node);
        if (state == cudaSuccess && i != 0) state = put_behind(nodes_.back(), added);
        if (state != cudaSuccess) check(state, text("add ", kernel_name(list.at(i)), " to a graph"));
        nodes_.push_back(added);
      });
    }
    check(cudaGraphInstantiate(&ready_, graph_, 0), what_);
    check(cudaGraphUpload(ready_, device_.compute()), what_);
  }
  /// Orders two kernels as `launch_kernel` would.
  cudaError_t put_behind(cudaGraphNode_t before, cudaGraphNode_t after) {
    cudaGraphEdgeData edge{};
    if (overlaps_kernels(device_)) {
      edge.from_port = cudaGraphKernelNodePortProgrammatic;
      edge.type = cudaGraphDependencyTypeProgrammatic;
    }
    return cudaGraphAddDependencies(graph_, &before, &after, &edge, 1);
  }
  void destroy() noexcept {
    if (ready_ != nullptr) cudaGraphExecDestroy(ready_);  // the driver keeps it until its launches are done
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }

  const device_context& device_;
  std::string what_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
  std::vector<cudaGraphNode_t> nodes_;
};

class cuda_graph_api final : public graph::device_api {
 public:
  explicit cuda_graph_api(const device_context& device) : device_(device) {}
  ~cuda_graph_api() override {
    for (cudaEvent_t const event : marks_) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }
  cuda_graph_api(const cuda_graph_api&) = delete;
  cuda_graph_api& operator=(const cuda_graph_api&) = delete;

  void launch(const graph::launch_list& list, std::size_t i) override {
    const graph::launch& each = list.at(i);
    const cudaError_t state = launch_kernel(device_, each.function, dim(each.grid), dim(each.block),
                                            each.shared_bytes, list.params(i));
    if (state != cudaSuccess) check(state, kernel_name(each));
  }
  [[nodiscard]] std::unique_ptr<graph::executable> build(const graph::launch_list& list) override {
    return std::make_unique<cuda_graph>(device_, list);
  }
  void mark(bool end) noexcept override {
    // Programs begin before any operation of theirs has made the card current, and events belong to that one.
    if (!succeeds(cudaSetDevice(device_.ordinal()))) return;
    cudaEvent_t& event = marks_[end ? 1 : 0];
    if (event == nullptr && !succeeds(cudaEventCreate(&event))) event = nullptr;
    marked_ = event != nullptr && (!end || marked_) && succeeds(cudaEventRecord(event, device_.compute()));
  }
  [[nodiscard]] std::optional<double> elapsed() noexcept override {
    float ms = 0;
    if (!marked_ || !succeeds(cudaEventElapsedTime(&ms, marks_[0], marks_[1]))) return {};
    return 1e6 * static_cast<double>(ms);
  }

 private:
  /// Clears what is not a success, so that no later call returns it.
  static bool succeeds(cudaError_t state) noexcept {
    if (state != cudaSuccess) (void)cudaGetLastError();
    return state == cudaSuccess;
  }

  const device_context& device_;
  cudaEvent_t marks_[2] = {};
  bool marked_ = false;  ///< both, or the first one only
};

}  // namespace

std::unique_ptr<graph::device_api> make_graph_api(const device_context& device) {
  return std::make_unique<cuda_graph_api>(device);
}

}  // namespace halocline::backend::cuda

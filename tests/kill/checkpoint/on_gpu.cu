// on_gpu.cu: states in GPU memory, for the children of the subject checkpoint.
#include "kill/checkpoint/on_gpu.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "proof/kill/mapped.cuh"

namespace holdfast::proof::kill {
namespace {

std::size_t bytes_of(const TensorView& tensor) {
  std::size_t bytes = holdfast::bytes_of(tensor.element);
  for (const std::uint64_t size : tensor.shape) bytes *= size;
  return bytes;
}

}  // namespace

TensorsOnGpu::TensorsOnGpu(std::vector<TensorView> tensors, std::size_t count) : tensors_(std::move(tensors)) {
  for (std::size_t i = 0; i < std::min(count, tensors_.size()); ++i) {
    TensorView& tensor = tensors_[i];
    bytes_.push_back(bytes_of(tensor));
    void* data = nullptr;
    must(cudaMalloc(&data, bytes_[i] + 1));
    if (tensor.data != nullptr) must(cudaMemcpy(data, tensor.data, bytes_[i], cudaMemcpyHostToDevice));
    tensor.data = data;
    tensor.on_device = true;
  }
}

TensorsOnGpu::~TensorsOnGpu() {
  for (std::size_t i = 0; i < bytes_.size(); ++i) static_cast<void>(cudaFree(const_cast<void*>(tensors_[i].data)));
}

void TensorsOnGpu::overwrite() {
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    must(cudaMemsetAsync(const_cast<void*>(tensors_[i].data), 0xee, bytes_[i]));
  }
}

std::string flaw_on_gpu(const Checkpoint& checkpoint, const CheckpointRound& round) {
  std::unique_ptr<TensorsOnGpu> arrays;
  const SavedState state = checkpoint.restore_to([&](const SavedState& saved) {
    std::vector<TensorView> views;
    for (const SavedTensor& tensor : saved.tensors) views.push_back({tensor.name, tensor.element, tensor.shape});
    arrays = std::make_unique<TensorsOnGpu>(std::move(views), saved.tensors.size());
    return arrays->tensors();
  });
  SavedState found = state;
  std::vector<std::vector<std::byte>> copies(found.tensors.size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    copies[i].resize(arrays->bytes_[i] + 1);
    must(cudaMemcpy(copies[i].data(), arrays->tensors_[i].data, arrays->bytes_[i], cudaMemcpyDeviceToHost));
    found.tensors[i].data = copies[i].data();
  }
  return StateOf(round, state.step).flaw_in(found);
}

}  // namespace holdfast::proof::kill

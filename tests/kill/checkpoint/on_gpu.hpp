// on_gpu.hpp: states in GPU memory, for the children of the subject checkpoint.
#pragma once

#include <string>
#include <vector>

#include "kill/checkpoint/shared.hpp"

namespace holdfast::proof::kill {

/// Tensors, of which the first `count` are in GPU memory.
class TensorsOnGpu {
 public:
  TensorsOnGpu(std::vector<TensorView> tensors, std::size_t count);
  ~TensorsOnGpu();
  TensorsOnGpu(const TensorsOnGpu&) = delete;
  TensorsOnGpu& operator=(const TensorsOnGpu&) = delete;
  const std::vector<TensorView>& tensors() const { return tensors_; }
  /// As later work of the program does.
  void overwrite();

 private:
  friend std::string flaw_on_gpu(const Checkpoint& checkpoint, const CheckpointRound& round);
  std::vector<TensorView> tensors_;
  std::vector<std::size_t> bytes_;  ///< of those in GPU memory
};

/// Restores the newest state into GPU memory, where it is verified. What is wrong with it; empty: nothing.
std::string flaw_on_gpu(const Checkpoint& checkpoint, const CheckpointRound& round);

}  // namespace holdfast::proof::kill

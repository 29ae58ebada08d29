// dnn_training.cpp: a training whose weights are checkpointed, and go on after a kill as they were. GPM §5.3, figure 7.
//
//   example_dnn_training POOL [STEPS]
//
// dnn_training_gpu.cu is the same with the weights in the memory of a GPU.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "holdfast/checkpoint.hpp"
#include "holdfast/error.hpp"

namespace {

constexpr unsigned kInputs = 256, kExamples = 64;

#ifdef __CUDACC__
#define ON_BOTH __host__ __device__
constexpr bool kOnGpu = true;
#else
#define ON_BOTH
constexpr bool kOnGpu = false;
#endif

ON_BOTH inline float input(unsigned example, unsigned i) {
  return static_cast<float>((example * 31 + i * 17) % 64) / 64.0f - 0.5f;
}

/// How far a layer of one neuron is from what it should say of an example, which changes with each step, so that the weights never
/// settle. All sums are taken in one order: every run is the same.
ON_BOTH inline float error_of(const float* weights, unsigned example, std::uint64_t step) {
  float sum = 0;
  for (unsigned i = 0; i < kInputs; ++i) sum += weights[i] * input(example, i);
  return sum - static_cast<float>((example + step) % 7);
}

/// One weight and its momentum, after one step of gradient descent.
ON_BOTH inline void learn(float* weight, float* momentum, const float* errors, unsigned i) {
  float gradient = 0;
  for (unsigned example = 0; example < kExamples; ++example) gradient += errors[example] * input(example, i);
  *momentum = 0.9f * *momentum + gradient;
  *weight -= 0.0005f * *momentum;
}

#ifdef __CUDACC__
__global__ void train(float* weights, float* momenta, std::uint64_t step) {
  __shared__ float errors[kExamples];
  if (threadIdx.x < kExamples) errors[threadIdx.x] = error_of(weights, threadIdx.x, step);
  __syncthreads();
  learn(weights + threadIdx.x, momenta + threadIdx.x, errors, threadIdx.x);
}
void calculate(float* weights, float* momenta, std::uint64_t step) { train<<<1, kInputs>>>(weights, momenta, step); }

float* make_array() {
  float* made = nullptr;
  if (cudaMalloc(&made, kInputs * sizeof(float)) != cudaSuccess) {
    std::puts("no GPU: nothing to show");
    std::exit(0);
  }
  cudaMemset(made, 0, kInputs * sizeof(float));
  return made;
}
void free_array(float* array) { cudaFree(array); }
std::vector<float> on_host(const float* array) {
  std::vector<float> copy(kInputs);
  if (cudaMemcpy(copy.data(), array, kInputs * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) std::exit(1);
  return copy;
}
#else
void calculate(float* weights, float* momenta, std::uint64_t step) {
  float errors[kExamples];
  for (unsigned example = 0; example < kExamples; ++example) errors[example] = error_of(weights, example, step);
  for (unsigned i = 0; i < kInputs; ++i) learn(weights + i, momenta + i, errors, i);
}
float* make_array() { return new float[kInputs](); }
void free_array(float* array) { delete[] array; }
std::vector<float> on_host(const float* array) { return {array, array + kInputs}; }
#endif

}  // namespace

int main(int count, char** words) {
  const std::string path = count > 1 ? words[1] : "/dev/shm/dnn_training.hold";
  const std::uint64_t last = count > 2 ? std::strtoull(words[2], nullptr, 10) : 200;
  float* const weights = make_array();
  float* const momenta = make_array();
  const std::vector<holdfast::TensorView> registered{
      {"weights", holdfast::ElementType::f32, {kInputs}, weights, kOnGpu},
      {"momenta", holdfast::ElementType::f32, {kInputs}, momenta, kOnGpu}};

  holdfast::Pool pool = std::filesystem::exists(path) ? holdfast::Pool::open(path) : holdfast::Pool::create(path);
  std::uint64_t step = 0;
  const bool recovers = !pool.objects().empty();
  holdfast::Checkpoint checkpoint =
      recovers ? holdfast::Checkpoint::open(pool, "dnn") : holdfast::Checkpoint::create(pool, "dnn");
  try {
    if (recovers) step = checkpoint.restore_into(registered).step;
  } catch (const holdfast::ObjectNotFound&) {
    // It was killed before its first save.
  }
  std::printf("begins at step %llu\n", static_cast<unsigned long long>(step));
  holdfast::SaveTicket ticket;
  while (step < last) {
    calculate(weights, momenta, step);
    ++step;
    ticket = checkpoint.save(step, registered);  // the weights may change at once
  }
  checkpoint.wait();

  std::uint64_t digest = 14695981039346656037u;
  for (const float weight : on_host(weights)) {
    std::uint32_t bits = 0;
    static_assert(sizeof bits == sizeof weight);
    __builtin_memcpy(&bits, &weight, sizeof bits);
    digest = (digest ^ bits) * 1099511628211u;
  }
  std::printf("after step %llu: the weights are %016llx\n", static_cast<unsigned long long>(step),
              static_cast<unsigned long long>(digest));
  free_array(weights);
  free_array(momenta);
  return 0;
}

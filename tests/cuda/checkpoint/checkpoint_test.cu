// checkpoint_test.cu: tensors of a GPU are saved as those of the CPU are, bit by bit, and come back; while their stream goes on.
#include "holdfast/checkpoint.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "../../pool/pool_test.hpp"
#include "pool/pool_image.hpp"
#include "states.hpp"

namespace holdfast::test {
namespace {

using pool::expect_error;
using pool::Folder;

constexpr auto kAll = [](std::size_t) { return true; };
constexpr auto kNone = [](std::size_t) { return false; };

class CudaCheckpoint : public ::testing::Test {
 protected:
  void SetUp() override { HOLDFAST_NEEDS_GPU(); }
  Folder folder{"/dev/shm"};
  std::string path = folder / "a.hold";
};

/// A copy of a closed pool as it lies there, without its header, which has a time in it.
std::vector<char> bytes_of_copy(const std::string& path, std::uint32_t object, unsigned copy) {
  const auto extent = pool::read_pool(system::File::open(path, false)).directory.extents_of(object, 1).at(copy);
  std::uint64_t header[16];
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(extent.offset));
  file.read(reinterpret_cast<char*>(header), sizeof header);
  std::vector<char> bytes(header[8] + header[9] - sizeof header);  // data_bytes, data_offset
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

/// Saves a state of tensors in GPU memory, those that `on_gpu` names, and from the host in the order in which a copy has them.
template <class OnGpuMemory>
void expect_same_as_from_host(const std::string& path, const OnGpuMemory& on_gpu, bool stage) {
  State state(sizes_of_all_kinds());
  TestStream stream;
  {
    Pool pool = Pool::create(path, true);
    Checkpoint gpu = Checkpoint::create(pool, "gpu"), host = Checkpoint::create(pool, "host");
    for (std::uint64_t step = 1; step <= 3; ++step) {  // the first copy is written twice
      state.fill(step, stream.stream);
      std::vector<TensorView> ordered;
      for (const bool first : {true, false}) {
        for (std::size_t i = 0; i < state.tensors.size(); ++i) {
          if (on_gpu(i) == first) ordered.push_back(state.tensors[i].view(false));
        }
      }
      const SaveTicket ticket = gpu.save(step, state.views(on_gpu), "text", {.stage = stage, .stream = stream.stream});
      state.overwrite_on_gpu(stream.stream);
      host.save(step, ordered, "text").wait();
      ticket.wait();
      stream.wait();
    }
    EXPECT_EQ(gpu.restore().step, 3u);  // the CPU finds the GPU's checksums right
    EXPECT_TRUE(gpu.restore().damage.empty());
  }
  for (const unsigned copy : {0u, 1u}) {
    EXPECT_TRUE(bytes_of_copy(path, 1, copy) == bytes_of_copy(path, 2, copy)) << "copy " << copy;
  }
}

TEST_F(CudaCheckpoint, SmallStatesAreSavedAndComeBack) {
  State state({1, 300, 0, 5000, 70'000});
  Pool pool = Pool::create(path);
  Checkpoint checkpoint = Checkpoint::create(pool, "model");
  for (const bool stage : {true, false}) {
    const std::uint64_t step = stage ? 1 : 2;
    state.fill(step);
    const SaveTicket ticket = checkpoint.save(step, state.views(kAll), {}, {.stage = stage});
    state.overwrite_on_gpu(nullptr);
    ticket.wait();
    EXPECT_EQ(checkpoint.restore_into(state.views(kAll)).step, step);
    EXPECT_EQ(state.flaw_on_gpu(step), "");
  }
}

TEST_F(CudaCheckpoint, AStagedSaveIsThatOfTheHost) { expect_same_as_from_host(path, kAll, true); }
TEST_F(CudaCheckpoint, ASaveStraightToThePoolIsThatOfTheHost) { expect_same_as_from_host(path, kAll, false); }
TEST_F(CudaCheckpoint, TensorsOfBothAreSavedTogether) {
  for (const bool stage : {true, false}) {
    expect_same_as_from_host(
        path, [](std::size_t i) { return i % 3 != 1; }, stage);
  }
}
TEST_F(CudaCheckpoint, APoolThatCannotBeMappedTakesThemToo) {
  const Folder elsewhere(std::filesystem::temp_directory_path());  // an ordinary file system, on most machines
  for (const bool stage : {true, false}) {
    expect_same_as_from_host(
        elsewhere / "a.hold", [](std::size_t i) { return i % 2 == 0; }, stage);
  }
}

struct Gate {
  std::atomic<bool> open = false;
  std::atomic<bool> late = false;
  static void CUDART_CB wait(void* gate) {
    auto& mine = *static_cast<Gate*>(gate);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!mine.open) {
      if (std::chrono::steady_clock::now() > end) {
        mine.late = true;
        return;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
};

TEST_F(CudaCheckpoint, ASaveReturnsBeforeItsStreamGetsThere) {
  State state(sizes_of_all_kinds());
  Pool pool = Pool::create(path);
  Checkpoint checkpoint = Checkpoint::create(pool, "model", {.copies = 3});
  TestStream stream;
  for (const bool stage : {true, false}) {
    const SaveOptions options = {.stage = stage, .stream = stream.stream};
    state.fill(1, stream.stream);
    std::vector<SaveTicket> tickets;  // whatever is made once is made here: memory of the GPU, and mappings
    for (std::uint64_t i = 0; i < 6; ++i) tickets.push_back(checkpoint.save(1, state.views(kAll), {}, options));
    for (const SaveTicket& ticket : tickets) ticket.wait();
    Gate gate;
    ASSERT_EQ(cudaLaunchHostFunc(stream.stream, Gate::wait, &gate), cudaSuccess);
    state.overwrite_on_gpu(stream.stream);
    const SaveTicket first = checkpoint.save(5, state.views(kAll), {}, options);
    const SaveTicket second = checkpoint.save(6, state.views(kAll), {}, options);
    EXPECT_FALSE(first.is_done());
    gate.open = true;
    first.wait();
    second.wait();
    EXPECT_FALSE(gate.late) << "the call waited for the stream";
    const SavedState saved = checkpoint.restore();
    EXPECT_EQ(saved.step, 6u);
    for (const SavedTensor& tensor : saved.tensors) {
      for (std::uint64_t i = 0; i < tensor.bytes; ++i) ASSERT_EQ(tensor.data[i], std::byte{0xee}) << tensor.name;
    }
  }
}

TEST_F(CudaCheckpoint, AGroupIsSavedAsItIsEachTime) {
  State state(sizes_of_all_kinds());
  Pool pool = Pool::create(path);
  Checkpoint checkpoint = Checkpoint::create(pool, "model", {.copies = 3});
  const TensorGroup group = checkpoint.group(state.views(kAll));
  TestStream stream;
  for (std::uint64_t step = 1; step <= 4; ++step) {
    state.fill(step, stream.stream);
    checkpoint.save(step, group, std::string(step * 3, 'x'), {.stage = step % 2 == 0, .stream = stream.stream});
  }
  checkpoint.wait();
  checkpoint.map_for_gpu();
  state.overwrite_on_gpu(nullptr);
  const SavedState restored = checkpoint.restore_into(state.views(kAll));
  EXPECT_EQ(restored.step, 4u);
  EXPECT_EQ(restored.text, std::string(12, 'x'));
  EXPECT_EQ(state.flaw_on_gpu(4), "");
}

TEST_F(CudaCheckpoint, RestoresToTheGpuAndTheHostInPartAndWhole) {
  State state(sizes_of_all_kinds());
  state.fill(9);
  {
    Pool pool = Pool::create(path);
    Checkpoint::create(pool, "model").save(9, state.views(kNone)).wait();
  }
  Pool pool = Pool::open(path, {.read_only = true});
  Checkpoint checkpoint = Checkpoint::open(pool, "model");
  state.overwrite_on_gpu(nullptr);
  EXPECT_EQ(checkpoint.restore_into(state.views(kAll)).tensors.size(), state.tensors.size());
  EXPECT_EQ(state.flaw_on_gpu(9), "");

  TestStream stream;
  state.overwrite_on_gpu(stream.stream);
  const auto on_gpu = [](std::size_t i) { return i % 2 == 0; };
  for (std::size_t i = 1; i < state.tensors.size(); i += 2)
    state.tensors[i].bytes.assign(state.tensors[i].bytes.size(), 0);
  checkpoint.restore_into(state.views(on_gpu), stream.stream);
  for (std::size_t i = 1; i < state.tensors.size(); i += 2) {
    const Tensor& tensor = state.tensors[i];
    for (std::size_t k = 0; k < tensor.bytes.size(); ++k) ASSERT_EQ(tensor.bytes[k], byte_of(i, k, 9)) << tensor.name;
  }
  state.overwrite_on_gpu(nullptr);
  const std::vector<TensorView> all = state.views(kAll), some = {all[3], all[9], all[15], all[200]};
  EXPECT_EQ(checkpoint.restore_into(some).tensors.size(), 4u);
  for (const std::size_t i : {3, 9, 15, 200}) {
    const Tensor& tensor = state.tensors[i];
    std::vector<std::uint8_t> found(tensor.bytes.size());
    ASSERT_EQ(cudaMemcpy(found.data(), tensor.on_device(), found.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    for (std::size_t k = 0; k < found.size(); ++k) ASSERT_EQ(found[k], byte_of(i, k, 9)) << tensor.name;
  }
}

TEST_F(CudaCheckpoint, ADamagedBlockIsFoundOnTheGpuAndGivesWay) {
  State state(sizes_of_all_kinds());
  {
    Pool pool = Pool::create(path);
    Checkpoint checkpoint = Checkpoint::create(pool, "model");
    for (const std::uint64_t step : {1, 2}) {
      state.fill(step);
      checkpoint.save(step, state.views(kAll)).wait();
    }
  }
  const auto extent = pool::read_pool(system::File::open(path, false)).directory.extents_of(1, 1).at(1);
  const auto flip = [&](std::uint64_t at) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(extent.offset + at));
    const char found = static_cast<char>(file.get() ^ 4);
    file.seekp(static_cast<std::streamoff>(extent.offset + at));
    file.put(found);
  };
  for (const std::uint64_t at : {100'000, 30 << 20, 100 << 20}) {
    flip(at);
    Pool pool = Pool::open(path);
    const SavedState restored = Checkpoint::open(pool, "model").restore_into(state.views(kAll));
    EXPECT_EQ(restored.step, 1u);
    ASSERT_EQ(restored.damage.size(), 1u);
    EXPECT_NE(restored.damage[0].find("in tensor"), std::string::npos) << restored.damage[0];
    EXPECT_EQ(state.flaw_on_gpu(1), "");
    pool.close();
    flip(at);
  }
  Pool pool = Pool::open(path);
  EXPECT_EQ(Checkpoint::open(pool, "model").restore_into(state.views(kAll)).step, 2u);
  EXPECT_EQ(state.flaw_on_gpu(2), "");
}

TEST_F(CudaCheckpoint, RefusesWhatItCannotSave) {
  State state({1000});
  state.fill(1);
  Pool pool = Pool::create(path);
  Checkpoint checkpoint = Checkpoint::create(pool, "model");
  checkpoint.save(1, state.views(kAll)).wait();
  std::vector<TensorView> wrong = state.views(kNone);
  wrong[0].on_device = true;
  expect_error<InvalidArgument>([&] { checkpoint.save(2, wrong); }, "memory of the CPU");
  expect_error<InvalidArgument>([&] { checkpoint.restore_into(wrong); }, "memory of the CPU");
  TestStream stream;
  ASSERT_EQ(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  expect_error<InvalidArgument>([&] { checkpoint.save(2, state.views(kAll), {}, {.stream = stream.stream}); },
                                "captured");
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream.stream, &graph), cudaSuccess);
  cudaGraphDestroy(graph);
  EXPECT_EQ(checkpoint.restore().step, 1u);
  checkpoint.save(3, state.views(kAll)).wait();  // the copies that were refused are free again
  checkpoint.save(4, state.views(kAll)).wait();
  EXPECT_EQ(checkpoint.restore().step, 4u);
}

__global__ void store_to(int* nowhere) { *nowhere = 1; }

/// In a process of its own, whose GPU goes away while a save is under way.
void lose_the_gpu(const std::string& path, const std::string& folder) {
  State state({1000, 20 << 20});
  TestStream stream, other;
  Pool pool = Pool::open(path);
  Checkpoint checkpoint = Checkpoint::open(pool, "model");
  state.fill(1, stream.stream);
  for (unsigned i = 0; i < 2; ++i) checkpoint.save(1, state.views(kAll), {}, {.stream = stream.stream}).wait();
  const OnGpu<int> somewhere(1);
  store_to<<<1, 1, 0, other.stream>>>(somewhere.get());  // its code is loaded now, for which CUDA waits for all streams
  other.wait();
  Gate gate;
  cudaLaunchHostFunc(stream.stream, Gate::wait, &gate);
  state.overwrite_on_gpu(stream.stream);
  const SaveTicket ticket = checkpoint.save(2, state.views(kAll), {}, {.stream = stream.stream});
  store_to<<<1, 1, 0, other.stream>>>(nullptr);
  static_cast<void>(cudaStreamSynchronize(other.stream));
  gate.open = true;
  std::string said;
  try {
    ticket.wait();
  } catch (const DeviceError& error) {
    said = error.what();
  }
  std::filesystem::remove_all(folder);
  std::_Exit(!gate.late && said.find("open the pool in a new process") != std::string::npos ? 0 : 1);
}

TEST_F(CudaCheckpoint, AGpuThatGoesAwayInASaveLosesNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::string again = path;
  if (const char* given = std::getenv("HOLDFAST_TEST_POOL")) again = given;  // the child has a folder of its own
  setenv("HOLDFAST_TEST_POOL", again.c_str(), 1);
  State state({1000, 20 << 20});
  if (again == path) {
    state.fill(1);
    Pool pool = Pool::create(path);
    Checkpoint::create(pool, "model").save(1, state.views(kAll)).wait();
  }
  EXPECT_EXIT(lose_the_gpu(again, folder.path()), ::testing::ExitedWithCode(0), "");
  unsetenv("HOLDFAST_TEST_POOL");
  Pool pool = Pool::open(path);
  EXPECT_EQ(Checkpoint::open(pool, "model").restore_into(state.views(kAll)).step, 1u);
  EXPECT_EQ(state.flaw_on_gpu(1), "");
}

}  // namespace
}  // namespace holdfast::test

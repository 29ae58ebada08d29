// session_test.cpp: sessions where there is no kernel to give one to, and the gate that they keep (tests/cuda has the others).
#include "holdfast/session.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "holdfast/table.hpp"
#include "support/errors.hpp"
#include "table/session_gate.hpp"

namespace holdfast::test {
namespace {

struct Path {
  Path() : str("/dev/shm/holdfast-session-" + std::to_string(getpid()) + ".hold") {}
  ~Path() { unlink(str.c_str()); }
  const std::string str;
};

CreateOptions on_cpu(std::uint32_t bytes = 8) {
  CreateOptions options;
  options.shape.key_bytes = options.shape.value_bytes = bytes;
  options.shape.capacity = 1000;
  options.runtime.device = "cpu";
  options.overwrite = true;
  return options;
}

TEST(Session, NeedsAGpu) {
  const Path path;
  Table table = Table::create(path.str, on_cpu());
  expect_error<InvalidArgument>([&] { static_cast<void>(table.session(nullptr, 10)); }, "device=\"cuda\"");
  table.close();
  EXPECT_THROW(static_cast<void>(table.session(nullptr, 10)), ObjectClosed);
  OpenOptions read_only;
  read_only.read_only = true;
  read_only.runtime.device = "cpu";
  Table reader = Table::open(path.str, read_only);
  EXPECT_THROW(static_cast<void>(reader.session(nullptr, 10)), ReadOnly);
}

/// A machine that counts what becomes of its sessions.
class CountingMachine : public gphash::Machine {
 public:
  std::size_t run(const Batch& batch, OpSet, std::uint64_t, std::size_t, BatchResult&) override { return batch.size; }
  std::size_t export_batch(std::uint64_t&, const gphash::ExportArrays&, std::size_t) override { return 0; }
  void end_export(std::uint64_t) override {}
  void clear() override {}
  void reserve(std::uint64_t) override {}
  void wait() override {}
  std::uint64_t size() const override { return 0; }
  std::uint64_t slots() const override { return 0; }
  CheckReport check() override { return {}; }
  void stats(Stats&) const override {}
  bool on_gpu() const override { return true; }
  void commit_session(void* stream) override {
    if (stream == nullptr) throw InvalidArgument("a stream of another GPU");
    ++committed;
  }
  void end_session() override {
    ++ended;
    if (fails) throw DeviceError("the GPU has failed");
  }
  int committed = 0, ended = 0;
  bool fails = false;
};

int some_stream = 0;

TEST(SessionGate, EndsEachSessionOnce) {
  SessionGate gate("a.hold");
  CountingMachine machine;
  EXPECT_FALSE(gate.is_open());
  gate.end();  // none is open
  gate.begin(machine, 1);
  EXPECT_TRUE(gate.is_open(1));
  EXPECT_THROW(gate.commit(1, nullptr), InvalidArgument);
  EXPECT_TRUE(gate.is_open(1));  // and can still be committed
  gate.commit(1, &some_stream);
  gate.end(1);
  EXPECT_THROW(gate.commit(1, &some_stream), InvalidArgument);
  gate.begin(machine, 2);
  gate.end(1);  // another one's
  EXPECT_TRUE(gate.is_open(2));
  gate.end();
  EXPECT_FALSE(gate.is_open());
  EXPECT_EQ(machine.committed, 1);
  EXPECT_EQ(machine.ended, 1);
  machine.fails = true;
  gate.begin(machine, 3);
  EXPECT_THROW(gate.end(3), DeviceError);
  EXPECT_FALSE(gate.is_open());  // nobody waits for it
  gate.wait();
}

TEST(SessionGate, OthersWaitAndTheOpenerIsRefused) {
  SessionGate gate("a.hold");
  CountingMachine machine;
  gate.begin(machine, 1);
  EXPECT_THROW(gate.wait(), InvalidArgument);
  std::atomic<bool> asks{false}, has_ended{false};
  std::thread other([&] {
    asks = true;
    gate.wait();
    EXPECT_TRUE(has_ended);
  });
  while (!asks) std::this_thread::yield();
  has_ended = true;
  std::thread([&] { gate.commit(1, &some_stream); }).join();  // by any thread
  other.join();
}

}  // namespace
}  // namespace holdfast::test

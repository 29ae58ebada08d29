// children.cpp: the frame of every child: it starts, says how far it is, works until it is killed, or reports and ends.
#include "proof/kill/children.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "holdfast/table.hpp"

namespace holdfast::proof::kill {
namespace {

void report_error(Shared& shared, const char* who, const char* what) {
  std::snprintf(shared.error, sizeof(shared.error), "%s: %s", who, what);
}

/// Before anything else is called in a process that works on `device`.
void start_device(const char* device) {
  cuda_devices();  // starts the device's driver, if there is one, before anything is timed
#if defined(HOLDFAST_FAILPOINTS) && defined(HOLDFAST_WITH_CUDA)
  if (std::strcmp(device, "cpu") != 0) register_failpoints();
#else
  static_cast<void>(device);
#endif
}

void wait_to_be_killed() {
  for (;;) pause();
}

void open_in_the_end(Shared& shared, Reader& reader) {
  const std::uint64_t end = now_ns() + 120'000'000'000;
  for (;;) {
    try {
      return reader.open();
    } catch (const PoolInUse&) {  // the killed process has not wholly gone yet
      if (now_ns() > end) throw;
      ++shared.recovered.in_use_retries;
      usleep(50);
    }
  }
}

}  // namespace

int write_until_killed(Shared& shared, Writer& writer) try {
  start_device(shared.device);
  shared.writing.store(1, std::memory_order_release);
  writer.open();
  shared.writing.store(2, std::memory_order_release);
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < writer.threads(); ++thread) {
    threads.emplace_back([&shared, &writer, thread] {
      try {
        writer.call(thread);
        wait_to_be_killed();
      } catch (const std::exception& error) {
        report_error(shared, "writer", error.what());
        _exit(3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
} catch (const std::exception& error) {
  report_error(shared, "writer", error.what());
  return 3;
}

int reopen_and_report(Shared& shared, Reader& reader) try {
  start_device(shared.recovery_device);
  shared.recovered.address = reinterpret_cast<std::uint64_t>(&reopen_and_report);
  set_and_wake(shared.stage, static_cast<std::uint32_t>(Stage::ready));
  if (shared.wait != 0) wait_while(shared.go, 0, 600'000);
  shared.opening_ns = now_ns();
  shared.stage.store(static_cast<std::uint32_t>(Stage::opening), std::memory_order_release);
  open_in_the_end(shared, reader);
  shared.stage.store(static_cast<std::uint32_t>(Stage::open), std::memory_order_release);
  shared.opened_ns = now_ns();
  reader.look();
  set_and_wake(shared.stage, static_cast<std::uint32_t>(Stage::verified));
  if (shared.ending == Ending::wait_for_kill) wait_to_be_killed();
  if (shared.ending == Ending::exit) _exit(0);
  reader.close();
  return 0;
} catch (const PoolNotFound& error) {
  shared.recovered.missing = 1;
  report_error(shared, "reopening", error.what());
  set_and_wake(shared.stage, static_cast<std::uint32_t>(Stage::verified));
  return 0;
} catch (const std::exception& error) {
  report_error(shared, "reopening", error.what());
  set_and_wake(shared.stage, static_cast<std::uint32_t>(Stage::failed));
  return 3;
}

}  // namespace holdfast::proof::kill

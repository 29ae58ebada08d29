// stop: stops a long batch from another thread, and goes on with it. Usage: stop [POOL]
#include <holdfast/table.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>

int main(int argc, char** argv) try {
  const char* pool = argc > 1 ? argv[1] : "/dev/shm/stop.hold";
  std::vector<std::uint64_t> keys(2'000'000);
  std::iota(keys.begin(), keys.end(), 1);
  auto items = holdfast::Table::create(pool, {.runtime = {.device = "cpu", .threads = 1}, .overwrite = true});

  std::stop_source stopping;
  const std::jthread impatient([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    stopping.request_stop();
  });

  holdfast::Batch batch{.op = holdfast::Op::insert,
                        .size = keys.size(),
                        .keys = keys.data(),
                        .values = keys.data(),
                        .stop = stopping.get_token()};
  const auto result = items.run(batch);
  if (result.stopped) {
    std::printf("stopped: %zu rows are in, and durable\n", result.next);
    batch.stop = {};
    batch.from = result.next;
    items.run(batch);
  }
  std::printf("all %llu are in\n", static_cast<unsigned long long>(items.size()));
  return items.size() == keys.size() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "stop: %s\n", error.what());
  return 1;
}

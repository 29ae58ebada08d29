// snapshot: copies a table while it is searched, and opens the copy. Usage: snapshot [POOL]
#include <holdfast/table.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

int main(int argc, char** argv) try {
  const std::string pool = argc > 1 ? argv[1] : "/dev/shm/snapshot.hold";
  std::vector<std::uint64_t> keys(100'000);
  std::iota(keys.begin(), keys.end(), 1);

  auto items = holdfast::Table::create(pool, {.shape = {.value_bytes = 8, .capacity = keys.size()}, .overwrite = true});
  items.insert(keys.data(), keys.data(), keys.size());

  std::atomic<bool> done = false, missed = false;
  std::thread searches([&] {
    bool found = false;
    for (std::size_t i = 0; !done; i = (i + 1) % keys.size()) {
      items.contains(&keys[i], 1, &found);
      missed = missed || !found;
    }
  });
  const std::string copy = pool + ".snapshot";
  const auto taken = items.snapshot(copy, {.overwrite = true});
  done = true;
  searches.join();
  std::printf("%llu items, changes waited %.1f ms\n", static_cast<unsigned long long>(taken.items), taken.held_ms);

  auto monday = holdfast::Table::open(copy, {.runtime = {.device = "cpu"}, .read_only = true});
  std::uint64_t value = 0;
  monday.find(&keys[41], &value, 1);
  return monday.size() == keys.size() && value == 42 && !missed ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "snapshot: %s\n", error.what());
  return 1;
}

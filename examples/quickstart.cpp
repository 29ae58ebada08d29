// quickstart: makes a durable table, fills it, closes it, opens it again and reads it. Usage: quickstart [POOL]
#include <holdfast/epoch.hpp>
#include <holdfast/table.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <vector>

int main(int argc, char** argv) try {
  const char* pool = argc > 1 ? argv[1] : "/dev/shm/quickstart.hold";
  std::vector<std::uint64_t> keys(100'000);
  std::iota(keys.begin(), keys.end(), 1);
  std::vector<std::array<float, 4>> vectors(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) vectors[i].fill(static_cast<float>(keys[i]));

  {
    auto items =
        holdfast::Table::create(pool, {.shape = {.value_bytes = 16, .capacity = keys.size()}, .overwrite = true});
    const auto result = items.insert_or_assign(keys, vectors);  // durable when it returns
    std::printf("inserted %llu\n", static_cast<unsigned long long>(result.of(holdfast::Status::inserted)));
  }

  auto items = holdfast::Table::open(pool);
  const std::array<std::uint64_t, 3> wanted{7, 99'999, 123'456};
  std::array<std::array<float, 4>, 3> values;
  std::array<bool, 3> found;
  items.find(wanted, values, found);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::printf("%llu: %s %g\n", static_cast<unsigned long long>(wanted[i]), found[i] ? "found" : "not there",
                values[i][0]);
  }

  {
    holdfast::TypedEpoch<std::uint64_t, std::array<float, 4>> one(items);
    std::array<float, 4> value;
    if (one.find(7, value)) one.insert_or_assign(1'000'007, value);
  }
  std::printf("%llu items\n", static_cast<unsigned long long>(items.size()));
  return found[0] && found[1] && !found[2] && values[0][0] == 7 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "quickstart: %s\n", error.what());
  return 1;
}

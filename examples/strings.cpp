// strings: a durable table whose keys and values are strings of any length. Usage: strings [POOL]
#include <holdfast/table.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

int main(int argc, char** argv) try {
  const char* pool = argc > 1 ? argv[1] : "/dev/shm/strings.hold";
  auto words = holdfast::Table::create(
      pool,
      {.shape = {.key_bytes = holdfast::kVariableBytes, .value_bytes = holdfast::kVariableBytes}, .overwrite = true});
  const std::vector<std::string> names{"kelp", "dulse", "a name of any length up to 65536 bytes"};
  words.insert(names, std::vector<std::string>{"brown", "red", ""});
  words.insert_or_assign(std::vector<std::string_view>{"kelp"}, std::vector<std::string_view>{"golden brown"});

  holdfast::Blobs colours;
  words.find(std::vector<std::string_view>{"dulse", "kelp", "oak", names[2]}, colours);
  for (std::size_t i = 0; i < colours.size(); ++i) {
    std::printf("%s\n", colours.has(i) ? std::string(colours[i]).c_str() : "(not there)");
  }

  // All of them, in no order: a cursor goes from call to call.
  holdfast::Blobs keys, values;
  std::uint64_t cursor = 0;
  std::size_t bytes = 0;
  while (words.export_pairs(cursor, &keys, &values, 1000) != 0) bytes += keys.total_bytes() + values.total_bytes();
  std::printf("%zu bytes in all\n", bytes);

  words.erase(names);
  return colours[1] == "golden brown" && !colours.has(2) && colours.has(3) && words.size() == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "strings: %s\n", error.what());
  return 1;
}

// image.cpp: makes pool images.
#include "support/image.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "holdfast/table.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

namespace holdfast::test {

namespace {

constexpr std::uint64_t kSeed = 12345;

CreateOptions small_table() {
  CreateOptions options;
  options.shape.capacity = 16;
  options.runtime.device = "cpu";
  options.runtime.threads = 1;
  options.overwrite = true;
  options.shape.seed = kSeed;
  return options;
}

void run_one(Table& table, Op op, const std::string& key, const std::string& value) {
  const std::uint64_t key_offsets[] = {0, key.size()}, value_offsets[] = {0, value.size()};
  Batch batch;
  batch.op = op;
  batch.size = 1;
  batch.keys = key.data();
  batch.variable = VariableLength{.key_offsets = key_offsets, .value_offsets = value_offsets};
  batch.values = value.data();
  table.run(batch);
}

/// Pairs in cells of several classes; some are updated to another class, some erased.
Items fill_pairs(Table& table, unsigned count) {
  Items items;
  for (unsigned i = 0; i < count; ++i) {
    const std::string key = i == 0 ? "" : std::to_string(i) + std::string(i * i % 200, 'k');
    const auto value_of = [i](unsigned bytes) { return std::string(bytes, static_cast<char>('A' + i % 26)); };
    run_one(table, Op::insert, key, value_of(i * 37 % 300));
    items[key] = value_of(i * 37 % 300);
    if (i % 3 == 1) run_one(table, Op::assign, key, items[key] = value_of(i * 101 % 700));
    if (i % 5 == 4) run_one(table, Op::erase, key, {});
    if (i % 5 == 4) items.erase(key);
  }
  return items;
}

/// Of the one object of a pool.
std::vector<ExtentInfo> extents_of(const std::string& path) { return inspect(path).objects.at(0).extents; }

/// Inserts an item, and says where its slot is.
std::uint64_t slot_of_insert(Table& table, const std::string& path, const std::string& key) {
  const std::string before = read_file(path);
  run_one(table, Op::insert, key, "half");
  const std::string now = read_file(path);
  for (const ExtentInfo& extent : extents_of(path)) {
    if (extent.kind.rfind("level", 0) != 0) continue;
    for (std::uint64_t at = extent.offset; at < extent.offset + extent.bytes; at += 16) {
      if (now.compare(at, 16, before, at, 16) != 0) return at;
    }
  }
  throw std::runtime_error("no slot of " + path + " has changed");
}

}  // namespace

Items fill(Table& table, unsigned count, std::uint64_t seed) {
  if (table.key_bytes() == kVariableBytes) return fill_pairs(table, count);
  Items items;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t key_bytes = table.key_bytes();
    const std::uint64_t number = i == 0 ? 0 : key_bytes == 8 ? mix(77, i) : i;
    const auto key = keys_of(&number, 1, key_bytes, seed);
    const std::string value(table.value_bytes(), static_cast<char>('A' + i % 26));
    table.insert(key.data(), value.data(), 1);
    items[std::string(reinterpret_cast<const char*>(key.data()), key_bytes)] = value;
  }
  return items;
}

Image make_image(const std::string& path, std::uint32_t value_bytes, unsigned items, bool clean,
                 std::uint32_t key_bytes, Score score) {
  CreateOptions options = small_table();
  options.shape.score = score;
  options.shape.key_bytes = key_bytes;
  options.shape.value_bytes = value_bytes;
  options.shape.max_bytes = std::uint64_t{1} << 24;
  Image image;
  image.name = (key_bytes == 8 ? "" : std::to_string(key_bytes) + "-byte keys, ") + std::to_string(value_bytes) +
               "-byte values, " + (score == Score::none ? "" : "scores, ") + (clean ? "clean" : "unclean");
  Table table = Table::create(path, options);
  image.items = fill(table, items, kSeed);
  if (clean) table.close();
  image.bytes = read_file(path);
  image.extents = extents_of(path);
  table.close();
  std::filesystem::remove(path);
  return image;
}

Image make_pairs_image(const std::string& path, unsigned items, bool clean) {
  CreateOptions options = small_table();
  options.shape.key_bytes = options.shape.value_bytes = kVariableBytes;
  options.shape.max_bytes = std::uint64_t{1} << 25;
  Image image;
  image.name = std::string("variable-length pairs, ") + (clean ? "clean" : "unclean");
  Table table = Table::create(path, options);
  image.items = fill(table, items, kSeed);
  if (clean) table.close();
  const std::uint64_t no_fingerprint = clean ? 0 : slot_of_insert(table, path, "without a fingerprint");
  const std::uint64_t no_word = clean ? 0 : slot_of_insert(table, path, "without a word") + 8;
  image.bytes = read_file(path);
  image.extents = extents_of(path);
  if (!clean) image.bytes.replace(no_fingerprint, 8, 8, '\0').replace(no_word, 8, 8, '\0');
  table.close();
  std::filesystem::remove(path);
  return image;
}

Image make_key_twice_image(const std::string& path) {
  constexpr std::uint64_t kSlot = 16, kBucket = 8 * kSlot, kCell = 16;
  Image image = make_image(path, kCell, 20, true);
  image.name = "a key twice";
  const auto of_kind = [&](const char* kind) {
    return *std::find_if(image.extents.begin(), image.extents.end(),
                         [&](const ExtentInfo& extent) { return extent.kind.rfind(kind, 0) == 0; });
  };
  const std::uint64_t last_cell = of_kind("heap").bytes / kCell;  // which is free
  const ExtentInfo level = of_kind("level");
  const std::string empty(kSlot, '\0');
  for (std::uint64_t bucket = level.offset; bucket < level.offset + level.bytes; bucket += kBucket) {
    // A bucket fills from its first slot on.
    std::uint64_t slot = bucket;
    while (slot < bucket + kBucket && image.bytes.compare(slot, kSlot, empty) != 0) slot += kSlot;
    if (slot == bucket || slot == bucket + kBucket) continue;
    image.bytes.replace(slot, 8, image.bytes, bucket, 8);
    std::memcpy(image.bytes.data() + slot + 8, &last_cell, 8);
    return image;
  }
  throw std::runtime_error("no bucket has an item and room for another");
}

void write_file(const std::string& path, const std::string& bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const bool written = file >= 0 && ftruncate(file, static_cast<off_t>(bytes.size())) == 0 &&
                       pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  if (file >= 0) close(file);
  if (!written) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

void write_at(const std::string& path, std::uint64_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
  if (!file) throw std::runtime_error("cannot write " + path);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::string bytes(static_cast<std::size_t>(std::max<std::streamoff>(in.tellg(), 0)), '\0');
  in.seekg(0);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.append(std::istreambuf_iterator<char>(in), {});  // a file of /proc does not tell its size
  return bytes;
}

}  // namespace holdfast::test

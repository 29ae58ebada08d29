// fuzz_pool.cpp: libFuzzer over pool images, since a pool may come from somebody else: everything a user could do with the pool and
// its objects. Images are packed (support/pages.hpp). The mutator alters one structure at a time, and mends the checksums most of
// the time, so that the fuzzer gets past them.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "holdfast/table.hpp"
#include "support/exercise.hpp"
#include "support/exercise_pool.hpp"
#include "support/image.hpp"
#include "support/pages.hpp"
#include "support/pool_bytes.hpp"
#include "support/random.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace holdfast;

constexpr std::size_t kMostBytes = 256 << 10;
constexpr std::size_t kMostPages = 16384;  ///< of an image: 64 MiB
using pool::kPage;

/// Where a structure lies, or a part of it.
struct Part {
  std::uint64_t at = 0, bytes = 0;
};

template <class T>
const T& any_of(const std::vector<T>& values, test::Random& random) {
  return values[random.below(values.size())];
}

/// The places of the directory's extents or objects.
std::vector<Part> entries_in(const std::string& bytes, bool objects) {
  const pool::Directory directory = test::directory_in(bytes);
  const std::uint64_t extents = test::area_in(bytes) + sizeof(pool::AreaHeader);
  const std::uint64_t first = extents + (objects ? directory.extents.size() * sizeof(pool::Extent) : 0);
  const std::uint64_t size = objects ? sizeof(pool::ObjectEntry) : sizeof(pool::Extent);
  std::vector<Part> parts(objects ? directory.objects.size() : directory.extents.size());
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = {first + i * size, size};
  return parts;
}

/// What the objects' pages say, and the page of each where something else lies.
std::vector<Part> pages_of_objects(const std::string& bytes) {
  std::vector<Part> parts;
  for (const pool::ObjectEntry& entry : test::directory_in(bytes).objects) {
    const std::uint64_t page = test::page_in(bytes, entry.number);
    if (page != 0) parts.push_back({page, offsetof(pool::ObjectPage, header) + sizeof(gphash::TableHeader)});
  }
  return parts;
}

std::vector<Part> pages_of_content(const std::string& bytes) {
  std::vector<Part> parts;
  for (std::uint64_t at = pool::kFirstExtent; at + kPage <= bytes.size(); at += kPage) {
    if (!test::is_zero_page(std::string_view(bytes).substr(at, kPage))) parts.push_back({at, kPage});
  }
  return parts;
}

void mutate(std::string& bytes, const Part& part) {
  if (part.at + part.bytes > bytes.size()) return;
  LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data() + part.at), part.bytes, part.bytes);
}

/// Writes one entry over another, or exchanges them.
void mix_entries(std::string& bytes, const std::vector<Part>& parts, test::Random& random) {
  const Part a = any_of(parts, random), b = any_of(parts, random);
  const std::string was = bytes.substr(b.at, b.bytes);
  bytes.replace(b.at, b.bytes, bytes, a.at, a.bytes);
  if (random.chance(50)) bytes.replace(a.at, a.bytes, was);
}

/// Alters one structure, since libFuzzer would seldom hit the one that matters in a large image.
void mutate_structure(std::string& bytes, test::Random& random) {
  const auto mutate_any = [&](const std::vector<Part>& parts) {
    if (!parts.empty()) mutate(bytes, any_of(parts, random));
  };
  const bool of_objects = random.chance(50);
  switch (random.below(8)) {
    case 0: return mutate(bytes, {0, offsetof(pool::Superblock, reserved)});
    case 1: return mutate(bytes, {test::area_in(bytes), offsetof(pool::AreaHeader, checksum)});
    case 2:
    case 3: return mutate_any(entries_in(bytes, of_objects));
    case 4: return mutate_any(pages_of_objects(bytes));
    case 5:
    case 6: return mutate_any(pages_of_content(bytes));
    default: {
      const std::vector<Part> parts = entries_in(bytes, of_objects);
      if (!parts.empty()) mix_entries(bytes, parts, random);
    }
  }
}

/// Brings the directory into the order that it must have.
void put_in_order(std::string& bytes) {
  test::edit_directory(bytes, [](pool::Directory& directory) {
    std::stable_sort(directory.extents.begin(), directory.extents.end(),
                     [](const pool::Extent& a, const pool::Extent& b) { return a.offset < b.offset; });
    std::stable_sort(directory.objects.begin(), directory.objects.end(),
                     [](const pool::ObjectEntry& a, const pool::ObjectEntry& b) { return a.number < b.number; });
  });
}

/// Sets what must be so for recovery to be reached: magic numbers, versions, generations and checksums.
void mend(std::string& bytes, test::Random& random) {
  const bool equal_copies = random.chance(75);
  test::edit_superblock(bytes, [](pool::Superblock& block) {
    block.magic = pool::kMagic;
    block.version = pool::kVersion;
    block.area &= 1;
  });
  const std::uint64_t generation = test::superblock_in(bytes).generation;
  if (random.chance(50)) put_in_order(bytes);
  test::edit_area_header(bytes, [&](pool::AreaHeader& header) {
    header.magic = pool::kAreaMagic;
    header.generation = generation;
  });
  for (const pool::ObjectEntry& entry : test::directory_in(bytes).objects) {
    const std::uint64_t page = test::page_in(bytes, entry.number);
    if (page == 0) continue;
    if (equal_copies) bytes.replace(page + kPage, kPage, bytes, page, kPage);
    for (unsigned copy = 0; copy < 2; ++copy) {
      const std::uint64_t at = page + copy * kPage;
      std::memcpy(bytes.data() + at, &pool::kPageMagic, sizeof pool::kPageMagic);
      test::seal_page(bytes, at);
    }
  }
}

/// A table alone in its pool can be opened by the short way.
bool is_alone(const std::string& path) try { return inspect(path).objects.size() == 1; } catch (const Error&) {
  return false;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  test::Random random(seed);
  std::string packed(reinterpret_cast<const char*>(data), size);
  if (random.chance(10) || !test::is_packed(packed)) return LLVMFuzzerMutate(data, size, max_size);
  std::string bytes = test::unpack_pages(packed, kMostPages);
  if (bytes.size() < pool::kFirstExtent) return LLVMFuzzerMutate(data, size, max_size);
  mutate_structure(bytes, random);
  if (random.chance(90)) mend(bytes, random);
  packed = test::pack_pages(bytes);
  if (packed.size() > max_size) return size;
  std::memcpy(data, packed.data(), packed.size());
  return packed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMostBytes) return -1;
  static const std::string path = "/dev/shm/holdfast-fuzz-" + std::to_string(getpid());
  static const int removed_at_exit = std::atexit([] { unlink(path.c_str()); });
  if (removed_at_exit != 0) return -1;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (test::is_packed(bytes)) {
    test::write_pages(path, bytes, kMostPages, std::hash<std::string>{}(bytes) % 8 == 0);
  } else {
    test::write_file(path, bytes);
  }
  const bool short_way = is_alone(path) && std::hash<std::string>{}(bytes) % 2 == 0;
  const std::string wrong =
      short_way ? test::exercise(path, nullptr, true).wrong : test::exercise_pool(path, {}, true).wrong;
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "wrong: %s\n", wrong.c_str());
  std::abort();
}

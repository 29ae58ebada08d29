// fuzz_pool.cpp: libFuzzer over pool images, since a pool may come from somebody else: open, recover, check, find, insert,
// export. The mutator mends the superblock's checksums most of the time, so that the fuzzer gets past them. An image may be packed
// (support/pages.hpp), as those of format 3 are: the superblock comes first there too.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "memory/superblock.hpp"
#include "support/exercise.hpp"
#include "support/image.hpp"
#include "support/pages.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using holdfast::memory::kSuperblockBytes;
constexpr std::size_t kMostBytes = 256 << 10;
constexpr std::size_t kMostPages = 16384;  ///< of a packed image: 64 MiB

/// A word at `offset` of either copy, set to what it must be for recovery to be reached.
template <class Word>
void set_in_both(std::string& bytes, std::size_t offset, Word word) {
  for (unsigned copy = 0; copy < 2; ++copy) {
    const std::size_t at = copy * kSuperblockBytes + offset;
    if (bytes.size() >= at + sizeof(word)) std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
}

/// Mutates the superblock alone, or the rest alone, since libFuzzer would seldom hit the one in a large image.
std::size_t mutate_part(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  const std::size_t superblock = sizeof(holdfast::memory::Superblock);
  if (size < 3 * superblock || seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  if (seed % 4 == 1) {
    LLVMFuzzerMutate(data, 128, 128);  // its shape
  } else if (seed % 4 == 2) {
    LLVMFuzzerMutate(data + offsetof(holdfast::memory::Superblock, extents), 6 * 24, 6 * 24);
  } else {
    return 2 * superblock + LLVMFuzzerMutate(data + 2 * superblock, size - 2 * superblock, max_size - 2 * superblock);
  }
  return size;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  size = mutate_part(data, size, max_size, seed);
  if (seed / 4 % 8 == 0) return size;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  set_in_both(bytes, offsetof(holdfast::memory::Superblock, magic), holdfast::memory::kMagic);
  std::uint32_t key_bytes = 0;
  const std::size_t key_at = offsetof(holdfast::memory::Superblock, key_bytes);
  if (size >= key_at + sizeof key_bytes) std::memcpy(&key_bytes, bytes.data() + key_at, sizeof key_bytes);
  std::uint32_t score = 0;
  const std::size_t score_at = offsetof(holdfast::memory::Superblock, score);
  if (size >= score_at + sizeof score) std::memcpy(&score, bytes.data() + score_at, sizeof score);
  const auto kind = score == 0 ? holdfast::Score::none : holdfast::Score::step;
  set_in_both(bytes, offsetof(holdfast::memory::Superblock, version), holdfast::memory::version_for(key_bytes, kind));
  if (seed / 32 % 4 != 0 && size >= 2 * kSuperblockBytes) {
    bytes.replace(kSuperblockBytes, kSuperblockBytes, bytes, 0, kSuperblockBytes);
  }
  holdfast::test::fix_checksum(bytes, 0);
  holdfast::test::fix_checksum(bytes, 1);
  std::memcpy(data, bytes.data(), size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMostBytes) return -1;
  static const std::string path = "/dev/shm/holdfast-fuzz-" + std::to_string(getpid());
  static const int removed_at_exit = std::atexit([] { unlink(path.c_str()); });
  if (removed_at_exit != 0) return -1;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (holdfast::test::is_packed(bytes)) {
    holdfast::test::write_pages(path, bytes, kMostPages);
  } else {
    holdfast::test::write_file(path, bytes);
  }
  const holdfast::test::Exercised result = holdfast::test::exercise(path, nullptr, true);
  if (result.wrong.empty()) return 0;
  std::fprintf(stderr, "wrong: %s\n", result.wrong.c_str());
  std::abort();
}

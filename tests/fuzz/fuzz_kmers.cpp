// fuzz_kmers.cpp: libFuzzer over what k-mers are counted in, since reads come from somebody else: text and gzip. Small blocks must
// find the k-mers that one large block finds, and whatever is wrong must be an InputError.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "holdfast/error.hpp"
#include "kmers/text/records.hpp"

namespace {

using namespace holdfast::kmers;

constexpr unsigned kK = 5;
constexpr std::size_t kMostRecord = 1 << 16;

/// Sums what it is given, whatever its order and its parts.
struct Sum : RunSink {
  std::uint64_t kmers = 0, sum = 0;
  void run(const std::uint8_t* codes, std::size_t n) override {
    if (n < kK) std::abort();
    for (std::size_t at = 0; at + kK <= n; ++at) {
      std::uint64_t kmer = 0;
      for (unsigned i = 0; i < kK; ++i) {
        if (codes[at + i] >= kNoBase) std::abort();
        kmer = kmer << 2 | codes[at + i];
      }
      ++kmers;
      sum += kmer * kmer + 1;
    }
  }
};

struct Found {
  bool whole = false;
  std::uint64_t kmers = 0, sum = 0, records = 0, letters = 0;
  bool operator==(const Found&) const = default;
};

Found parse(const std::string& path, std::size_t block_bytes) {
  Sum sum;
  RecordParser parser(kK, 3, sum);
  try {
    TextBlocks blocks(path, kK, block_bytes, kMostRecord);
    TextBlock block;
    while (blocks.next(block)) parser.parse(block);
  } catch (const holdfast::InputError&) {
    return {};
  }
  return {true, sum.kmers, sum.sum, parser.records(), parser.letters()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("fuzz_kmers", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (size == 0) return 0;
  const std::size_t block_bytes = 1 + data[0];
  if (ftruncate(file, 0) != 0 || pwrite(file, data + 1, size - 1, 0) != static_cast<ssize_t>(size - 1)) std::abort();
  const Found small = parse(path, block_bytes), large = parse(path, std::size_t{1} << 20);
  if (!(small == large)) {
    std::fprintf(stderr, "blocks of %zu bytes: %d %lu %lu, one block: %d %lu %lu\n", block_bytes, small.whole,
                 small.kmers, small.records, large.whole, large.kmers, large.records);
    std::abort();
  }
  return 0;
}

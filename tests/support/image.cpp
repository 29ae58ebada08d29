// image.cpp: makes pool images and mends their checksums.
#include "support/image.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "core/checksum.hpp"
#include "holdfast/table.hpp"
#include "memory/superblock.hpp"
#include "support/numbers.hpp"
#include "support/random.hpp"

namespace holdfast::test {

Image make_image(const std::string& path, std::uint32_t value_bytes, unsigned items, bool clean,
                 std::uint32_t key_bytes) {
  CreateOptions options;
  options.key_bytes = key_bytes;
  options.value_bytes = value_bytes;
  options.capacity = 16;
  options.device = "cpu";
  options.threads = 1;
  options.overwrite = true;
  options.seed = 12345;
  options.max_bytes = std::uint64_t{1} << 24;
  Image image;
  image.name = (key_bytes == 8 ? "" : std::to_string(key_bytes) + "-byte keys, ") + std::to_string(value_bytes) +
               "-byte values, " + (clean ? "clean" : "unclean");
  Table table = Table::create(path, options);
  for (unsigned i = 0; i < items; ++i) {
    const auto key = keys_of(std::vector<std::uint64_t>{i == 0           ? 0
                                                        : key_bytes == 8 ? mix(77, i)
                                                                         : i}
                                 .data(),
                             1, key_bytes, options.seed);
    const std::string value(value_bytes, static_cast<char>('A' + i % 26));
    table.insert(key.data(), value.data(), 1);
    image.items[std::string(reinterpret_cast<const char*>(key.data()), key_bytes)] = value;
  }
  if (clean) table.close();
  image.bytes = read_file(path);
  image.extents = inspect(path).extents;
  table.close();
  std::filesystem::remove(path);
  return image;
}

void write_file(const std::string& path, const std::string& bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const bool written = file >= 0 && ftruncate(file, static_cast<off_t>(bytes.size())) == 0 &&
                       pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  if (file >= 0) close(file);
  if (!written) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void fix_checksum(std::string& bytes, unsigned copy) {
  const std::size_t at = copy * memory::kSuperblockBytes;
  if (bytes.size() < at + memory::kSuperblockBytes) return;
  memory::Superblock superblock;
  std::memcpy(&superblock, bytes.data() + at, sizeof(superblock));
  superblock.checksum = checksum(&superblock, offsetof(memory::Superblock, checksum));
  std::memcpy(bytes.data() + at, &superblock, sizeof(superblock));
}

}  // namespace holdfast::test

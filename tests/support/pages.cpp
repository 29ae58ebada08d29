// pages.cpp: packs pool files, and writes them again.
#include "support/pages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace holdfast::test {
namespace {

struct Trailer {
  std::uint32_t kept, pages;
  char magic[8];
};
static_assert(sizeof(Trailer) == 16);

void add_number(std::string& to, std::uint32_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

bool write_at(int file, const char* bytes, std::size_t size, std::uint64_t at) {
  return pwrite(file, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

}  // namespace

bool is_zero_page(std::string_view page) {
  static constexpr char kZeros[kPageBytes] = {};  // compared at once: a fuzzer would trace each byte of a search
  return page.size() == kPageBytes && std::memcmp(page.data(), kZeros, kPageBytes) == 0;
}

std::string pack_pages(const std::string& bytes) {
  const auto pages = static_cast<std::uint32_t>(bytes.size() / kPageBytes);
  std::string packed, numbers;
  for (std::uint32_t i = 0; i < pages; ++i) {
    const std::string_view page = std::string_view(bytes).substr(i * kPageBytes, kPageBytes);
    if (i >= 2 && is_zero_page(page)) continue;
    packed += page;
    add_number(numbers, i);
  }
  packed += numbers;
  add_number(packed, static_cast<std::uint32_t>(numbers.size() / 4));
  add_number(packed, pages);
  return packed += kPagesMagic;
}

bool is_packed(const std::string& bytes) {
  return bytes.size() >= sizeof(Trailer) && std::string_view(bytes).substr(bytes.size() - 8) == kPagesMagic;
}

namespace {

/// A page that was kept, as far as the packed bytes have it.
struct Kept {
  std::uint32_t page;
  std::string_view bytes;
};

std::size_t pages_in(const std::string& packed, std::size_t most_pages) {
  Trailer trailer;
  std::memcpy(&trailer, packed.data() + packed.size() - sizeof trailer, sizeof trailer);
  return std::min<std::size_t>(trailer.pages, most_pages);
}

std::vector<Kept> kept_in(const std::string& packed, std::size_t pages) {
  Trailer trailer;
  const std::size_t numbers_end = packed.size() - sizeof trailer;
  std::memcpy(&trailer, packed.data() + numbers_end, sizeof trailer);
  const std::size_t count = std::min<std::size_t>(trailer.kept, numbers_end / 4);
  const std::size_t numbers = numbers_end - 4 * count;
  std::vector<Kept> kept;
  for (std::size_t i = 0; i < count && i * kPageBytes < numbers; ++i) {
    std::uint32_t page;
    std::memcpy(&page, packed.data() + numbers + 4 * i, sizeof page);
    const std::size_t size = std::min(kPageBytes, numbers - i * kPageBytes);
    if (page < pages) kept.push_back({page, std::string_view(packed).substr(i * kPageBytes, size)});
  }
  return kept;
}

}  // namespace

std::string unpack_pages(const std::string& packed, std::size_t most_pages) {
  const std::size_t pages = pages_in(packed, most_pages);
  std::string bytes(pages * kPageBytes, '\0');
  for (const Kept& kept : kept_in(packed, pages))
    std::memcpy(bytes.data() + kept.page * kPageBytes, kept.bytes.data(), kept.bytes.size());
  return bytes;
}

void write_pages(const std::string& path, const std::string& packed, std::size_t most_pages, bool sparse) {
  const std::size_t pages = pages_in(packed, most_pages);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const auto length = static_cast<off_t>(pages * kPageBytes);
  bool written = file >= 0 && ftruncate(file, length) == 0;
  if (written && !sparse && length != 0) written = posix_fallocate(file, 0, length) == 0;
  for (const Kept& kept : kept_in(packed, pages)) {
    if (!written) break;
    written = write_at(file, kept.bytes.data(), kept.bytes.size(), kept.page * kPageBytes);
  }
  if (file >= 0) close(file);
  if (!written) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace holdfast::test

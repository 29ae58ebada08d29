// object_page.cpp: checks the page of an object that may be damaged, half-written or made to mislead.
#include "pool/object_page.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "holdfast/error.hpp"
#include "holdfast/pool.hpp"
#include "system/process.hpp"

namespace holdfast::pool {

bool is_intact(const ObjectPage& page) { return page.magic == kPageMagic && page.checksum == checksum_of(page); }

std::string flaw(const ObjectPage& page, std::uint32_t number) {
  const auto text = [](std::uint64_t value) { return std::to_string(value); };
  if (page.number != number) return "its page is that of object " + text(page.number);
  if (page.clean > 1) return "its clean mark is " + text(page.clean);
  if (page.domain > static_cast<std::uint32_t>(Domain::power)) return "its domain is " + text(page.domain);
  if (page.generation == 0 || page.generation >= kGenerations)
    return "its page has generation " + text(page.generation);
  if (page.header_bytes > kHeaderBytes) return "its header has " + text(page.header_bytes) + " bytes";
  if (page.description_bytes > kDescriptionBytes)
    return "its description has " + text(page.description_bytes) + " bytes";
  const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
  if (!std::all_of(page.header + page.header_bytes, std::end(page.header), is_zero) ||
      !std::all_of(page.description + page.description_bytes, std::end(page.description), is_zero) ||
      !std::all_of(std::begin(page.reserved), std::end(page.reserved), is_zero)) {
    return "reserved bytes of its page are not zero";
  }
  return {};
}

std::string description_in(const ObjectPage& page) {
  return {reinterpret_cast<const char*>(page.description), page.description_bytes};
}

bool is_of_this_boot(const ObjectPage& page) { return system::is_this_boot(page.boot_id); }

void throw_power_lost(const std::string& label) {
  throw PowerLost(label +
                  " was open when the machine stopped or restarted, and its medium keeps nothing that was "
                  "not synced; run `holdfast recover --salvage` on it to export what verifies");
}

FoundPage choose_page(const ObjectPage& a, const ObjectPage& b, std::uint32_t number) {
  FoundPage found;
  found.choice = choose_copy(a, b, [](const ObjectPage& page) { return is_intact(page); });
  if (found.choice.copy < 0) {
    found.damage = "both copies of its page are damaged";
    return found;
  }
  found.page = found.choice.copy == 0 ? a : b;
  found.damage = flaw(found.page, number);
  return found;
}

FoundPage read_page(const system::File& file, const Extent& pages) {
  // Its owner may be writing it. If neither copy is valid it is damage, unless it was being written.
  constexpr int kAttempts = 100;
  ObjectPage copies[2] = {}, before[2] = {};
  FoundPage found;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    file.read(copies, sizeof copies, pages.offset);
    found = choose_page(copies[0], copies[1], pages.object);
    if (found.damage.empty() || (attempt > 0 && std::memcmp(copies, before, sizeof copies) == 0)) break;
    std::memcpy(before, copies, sizeof copies);
  }
  return found;
}

}  // namespace holdfast::pool

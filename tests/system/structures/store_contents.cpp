// store_contents.cpp: reads all items of a store, and compares them with what it must have.
#include "store_contents.hpp"

#include <charconv>

namespace holdfast::proof {

namespace {

/// The number behind a position of a text; all ones: none.
std::uint64_t number_at(std::string_view text, std::size_t at) {
  std::uint64_t number = ~std::uint64_t{0};
  if (at < text.size()) std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string value_text(std::uint64_t key, std::uint64_t version) {
  const std::string one = std::to_string(key) + ":" + std::to_string(version) + ";";
  const std::size_t bytes = version < kLargeValue ? 100 : version < kChunkedValue ? 900'000 : 2'200'000;
  std::string text;
  text.reserve(bytes + one.size());
  while (text.size() < bytes) text += one;
  text.resize(bytes);
  return text;
}

Items store_items(const Store& store, std::string& wrong) {
  Items items;
  store.for_each([&](std::string_view text, const StoreItem& item) {
    const std::uint64_t key = number_at(text, 4), version = number_at(item.value, item.value.find(':') + 1);
    if (text != key_text(key)) wrong += "there is a key " + std::string(text) + "; ";
    if (version >= kTouched || item.value != value_text(key, version))
      wrong += std::string(text) + " has a torn value; ";
    if (item.expiry != 0 && item.expiry != kLateExpiry) wrong += std::string(text) + " has an expiry of no step; ";
    const auto found = store.get(text);
    if (!found || found->value != item.value || found->cas != item.cas) wrong += std::string(text) + " is not found; ";
    const std::uint64_t touched = item.expiry == 0 ? 0 : kTouched;
    if (!items.emplace(key, version + touched).second) wrong += std::string(text) + " is there twice; ";
    return true;
  });
  if (store.size() != items.size()) wrong += "size() returns " + std::to_string(store.size()) + "; ";
  return items;
}

std::string compare_store(const Items& found, const StoreState* before, const StoreState* after) {
  if (before == nullptr || after == nullptr || !after->may_evict) return compare(found, before, after);
  StoreState evicted_before = *before, evicted_after = *after;
  for (Items* const items : {&evicted_before.items, &evicted_after.items}) {
    std::erase_if(*items, [&](const auto& item) { return !found.contains(item.first); });
  }
  return compare(found, &evicted_before, &evicted_after);
}

}  // namespace holdfast::proof

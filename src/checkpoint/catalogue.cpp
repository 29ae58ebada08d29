// catalogue.cpp: writes and reads the list of a copy's tensors.
#include "checkpoint/catalogue.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "core/bits.hpp"
#include "holdfast/error.hpp"
#include "pool/superblock.hpp"

namespace holdfast {

namespace {

struct Kind {
  unsigned bytes;
  const char* name;
};
constexpr Kind kKinds[] = {
    {0, "?"},   {1, "BOOL"},  {1, "U8"},      {1, "I8"},      {2, "U16"},     {2, "I16"},         {4, "U32"},
    {4, "I32"}, {8, "U64"},   {8, "I64"},     {2, "F16"},     {2, "BF16"},    {4, "F32"},         {8, "F64"},
    {8, "C64"}, {16, "C128"}, {1, "F8_E4M3"}, {1, "F8_E5M2"}, {1, "F8_E8M0"}, {1, "F8_E4M3FNUZ"}, {1, "F8_E5M2FNUZ"}};
const Kind& kind_of(ElementType element) {
  const auto number = static_cast<std::uint32_t>(element);
  return kKinds[number < std::size(kKinds) ? number : 0];
}

}  // namespace

unsigned bytes_of(ElementType element) { return kind_of(element).bytes; }
const char* name(ElementType element) { return kind_of(element).name; }

namespace checkpoint {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
constexpr std::uint64_t kMostTensors = std::uint64_t{1} << 24, kMostRank = 64;

/// The bytes of a tensor; more than kMostBytes: too many.
template <class Shape>
std::uint64_t bytes_in(const Shape& shape, std::uint64_t bytes) {
  bool empty = false;
  for (const std::uint64_t extent : shape) empty |= extent == 0;
  if (empty) return 0;
  for (const std::uint64_t extent : shape) {
    if (extent > kMostBytes / bytes) return kMostBytes + 1;
    bytes *= extent;
  }
  return bytes;
}

void append(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(from);
  to.insert(to.end(), begin, begin + bytes);
}

void check(const TensorView& tensor) {
  if (bytes_of(tensor.element) == 0 || tensor.shape.size() > kMostRank) {
    throw InvalidArgument("the tensor \"" + tensor.name + "\" has an element type or a number of dimensions that a " +
                          "checkpoint does not know: at most 64 dimensions, and types of holdfast::ElementType");
  }
}

}  // namespace

Layout layout_of(std::span<const TensorView> tensors) {
  if (tensors.size() > kMostTensors) throw InvalidArgument("a state has at most 2^24 tensors: use several checkpoints");
  Layout made;
  std::vector<TensorEntry> entries;
  std::vector<std::uint64_t> shapes;
  std::string names;
  std::unordered_set<std::string_view> seen;
  seen.reserve(tensors.size());
  std::uint64_t offset = 0;
  const auto place = [&](const TensorView& tensor) {
    check(tensor);
    if (!seen.insert(tensor.name).second) {
      throw InvalidArgument("two tensors have the name \"" + tensor.name + "\": give each its own");
    }
    const std::uint64_t bytes = bytes_in(tensor.shape, bytes_of(tensor.element));
    if (bytes > kMostBytes || offset + bytes > kMostBytes) {
      throw InvalidArgument("the state is larger than 64 TiB: use several checkpoints");
    }
    entries.push_back({offset, bytes, static_cast<std::uint32_t>(tensor.element),
                       static_cast<std::uint32_t>(tensor.shape.size()), tensor.name.size()});
    auto* const memory = static_cast<std::byte*>(const_cast<void*>(tensor.data));
    if (bytes != 0) (tensor.on_device ? made.device : made.host).push_back({memory, offset, bytes});
    offset = round_up(offset + bytes, kAlignment);
    shapes.insert(shapes.end(), tensor.shape.begin(), tensor.shape.end());
    names += tensor.name;
  };
  for (const TensorView& tensor : tensors) {
    if (tensor.on_device) place(tensor);
  }
  made.device_bytes = offset;
  for (const TensorView& tensor : tensors) {
    if (!tensor.on_device) place(tensor);
  }
  made.data_bytes = offset;
  made.tensors = tensors.size();
  made.dimensions = shapes.size();
  made.names_bytes = names.size();
  append(made.listed, entries.data(), entries.size() * sizeof(TensorEntry));
  append(made.listed, shapes.data(), shapes.size() * 8);
  append(made.listed, names.data(), names.size());
  return made;
}

Plan::Plan(std::shared_ptr<const Layout> tensors, std::string_view with) : layout(std::move(tensors)), text(with) {
  header.magic = kCopyMagic;
  header.tensors = layout->tensors;
  header.dimensions = layout->dimensions;
  header.names_bytes = layout->names_bytes;
  header.text_bytes = text.size();
  header.data_bytes = layout->data_bytes;
  header.data_offset = round_up(sums_offset() + 8 * blocks_of(header.data_bytes), pool::kPage);
}

std::uint64_t Plan::catalogue_bytes() const { return round_up(layout->listed.size() + text.size(), 8); }

void Plan::write_catalogue(std::byte* copy) const {
  std::byte* at = copy + sizeof(CopyHeader);
  std::byte* const end = at + catalogue_bytes();
  at = std::copy(layout->listed.begin(), layout->listed.end(), at);
  const auto letters = std::as_bytes(std::span(text));
  at = std::copy(letters.begin(), letters.end(), at);
  std::fill(at, end, std::byte{0});
}

Catalogue read_catalogue(const std::byte* copy, const CopyHeader& header, std::uint64_t bytes) {
  Catalogue found;
  const auto damaged = [&](const char* what) {
    found.damage = what;
    return found;
  };
  if (header.tensors > kMostTensors || header.dimensions > kMostTensors * kMostRank || header.names_bytes > bytes ||
      header.text_bytes > bytes || header.data_bytes > bytes || header.data_offset > bytes - header.data_bytes) {
    return damaged("its header has sizes that do not fit into it");
  }
  const std::uint64_t entries = sizeof(CopyHeader), shapes = entries + header.tensors * sizeof(TensorEntry);
  const std::uint64_t names = shapes + header.dimensions * 8, text = names + header.names_bytes;
  const std::uint64_t sums = round_up(text + header.text_bytes, 8), end = sums + 8 * blocks_of(header.data_bytes);
  if (end > header.data_offset || header.data_offset % pool::kPage != 0) {
    return damaged("its header has sizes that do not fit into it");
  }
  if (checksum(copy + entries, end - entries) != header.catalogue_checksum) return damaged("its catalogue is damaged");
  found.sums = reinterpret_cast<const std::uint64_t*>(copy + sums);
  found.text.assign(reinterpret_cast<const char*>(copy + text), header.text_bytes);
  std::uint64_t dimension = 0, letter = 0, least = 0;
  for (std::uint64_t i = 0; i < header.tensors; ++i) {
    TensorEntry entry;
    std::memcpy(&entry, copy + entries + i * sizeof entry, sizeof entry);
    if (entry.rank > header.dimensions - dimension || entry.name_bytes > header.names_bytes - letter) {
      return damaged("its catalogue is not consistent");
    }
    SavedTensor tensor;
    tensor.element = static_cast<ElementType>(entry.element);
    tensor.shape.resize(entry.rank);
    if (entry.rank != 0) std::memcpy(tensor.shape.data(), copy + shapes + dimension * 8, entry.rank * 8);
    tensor.name.assign(reinterpret_cast<const char*>(copy + names + letter), entry.name_bytes);
    tensor.bytes = entry.bytes;
    tensor.data = copy + header.data_offset + entry.offset;
    const unsigned each = bytes_of(tensor.element);
    if (each == 0 || bytes_in(tensor.shape, each) != entry.bytes || entry.bytes > header.data_bytes ||
        entry.offset > header.data_bytes - entry.bytes || entry.offset < least || entry.offset % kAlignment != 0) {
      return damaged("its catalogue is not consistent");
    }
    least = entry.offset + entry.bytes;
    dimension += entry.rank;
    letter += entry.name_bytes;
    found.offsets.push_back(entry.offset);
    found.tensors.push_back(std::move(tensor));
  }
  return found;
}

}  // namespace checkpoint

}  // namespace holdfast

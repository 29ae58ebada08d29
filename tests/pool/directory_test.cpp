// directory_test.cpp: directories as bytes and back, and every lie that they can tell.
#include "pool/directory.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "core/checksum.hpp"

namespace holdfast::pool {
namespace {

constexpr std::uint64_t kFileBytes = kFirstExtent + 100 * kPage;

ObjectEntry entry(std::uint32_t number, std::string_view name) {
  ObjectEntry made = {};
  made.number = number;
  made.type = 1;
  made.type_version = 1;
  made.name_bytes = static_cast<std::uint32_t>(name.size());
  std::memcpy(made.name, name.data(), name.size());
  return made;
}

/// Two objects, the second with a range in two pieces.
Directory sample() {
  Directory directory;
  directory.generation = 7;
  directory.next_number = 4;
  directory.objects = {entry(1, "one"), entry(3, "zwei · 二")};
  directory.add({kFirstExtent + 10 * kPage, 4 * kPage, 3, 0x8002, 1});
  directory.add({kFirstExtent, 3 * kPage, 1, kPagesRole, 0});
  directory.add({kFirstExtent + 3 * kPage, 2 * kPage, 3, kPagesRole, 0});
  directory.add({kFirstExtent + 20 * kPage, 80 * kPage, 3, 0x8002, 0});
  return directory;
}

/// What `decode` says of a directory's bytes.
std::string reported(const Directory& directory, std::uint64_t generation = 7, std::uint64_t file_bytes = kFileBytes) {
  std::vector<std::byte> area = encode(directory);
  area.resize(kAreaBytes);
  Directory read;
  return decode(area.data(), generation, file_bytes, read);
}

TEST(Directory, IsReadAsItWasWritten) {
  const Directory written = sample();
  std::vector<std::byte> area = encode(written);
  area.resize(kAreaBytes, std::byte{0xff});  // what lies behind it is older
  Directory read;
  ASSERT_EQ(decode(area.data(), 7, kFileBytes, read), "");
  EXPECT_EQ(read.extents, written.extents);
  EXPECT_EQ(read.next_number, 4u);
  ASSERT_EQ(read.objects.size(), 2u);
  EXPECT_EQ(read.find("zwei · 二")->number, 3u);
  EXPECT_EQ(read.find("two"), nullptr);
  EXPECT_EQ(read.find(2u), nullptr);
  EXPECT_EQ(read.find(3u)->title(), "zwei · 二");
  const auto pieces = read.extents_of(3, 0x8002);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].bytes, 80 * kPage) << "by index, not by place";
  EXPECT_EQ(read.bytes_of(3), 86 * kPage);
  EXPECT_EQ(read.end(), kFileBytes);
  EXPECT_EQ(Directory{}.end(), kFirstExtent);
}

TEST(Directory, AFullOneFitsItsArea) {
  Directory directory;
  directory.generation = 7;
  for (std::uint32_t i = 1; i <= kObjects; ++i) {
    directory.objects.push_back(entry(i, "object " + std::to_string(i) + std::string(kNameBytes - 11, 'x')));
    for (std::uint16_t role = 0; role < 4; ++role) {
      directory.add({kFirstExtent + (4 * i + role) * 2 * kPage, 2 * kPage, i, role, 0});
    }
  }
  directory.next_number = kObjects + 1;
  ASSERT_EQ(directory.extents.size(), kExtents);
  EXPECT_LE(encode(directory).size(), kAreaBytes);
  EXPECT_EQ(reported(directory, 7, ~std::uint64_t{0}), "");
}

TEST(Directory, EveryChangedByteIsFound) {
  const std::vector<std::byte> good = encode(sample());
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> area = good;
    area[at] ^= std::byte{1};
    area.resize(kAreaBytes);
    Directory read;
    EXPECT_NE(decode(area.data(), 7, kFileBytes, read), "") << at;
  }
}

struct Lie {
  const char* text;
  std::function<void(Directory&)> tell;
};
const Lie kLies[] = {
    {"begins at byte", [](Directory& d) { d.extents[0].offset = kFirstExtent - kPage; }},
    {"begins at byte", [](Directory& d) { d.extents[0].offset += 8; }},
    {"has 0 bytes", [](Directory& d) { d.extents[1].bytes = 0; }},
    {"has", [](Directory& d) { d.extents[1].bytes -= 8; }},
    {"beyond the end", [](Directory& d) { d.extents[3].bytes += kPage; }},
    {"beyond the end", [](Directory& d) { d.extents[3].bytes = ~std::uint64_t{0} - kPage + 1; }},
    {"beyond the end", [](Directory& d) { d.extents[3].offset = ~std::uint64_t{0} - kPage + 1; }},
    {"overlaps", [](Directory& d) { d.extents[0].bytes += kPage; }},
    {"overlaps", [](Directory& d) { std::swap(d.extents[0], d.extents[1]); }},
    {"of object 2", [](Directory& d) { d.extents[2].object = 2; }},
    {"is there twice", [](Directory& d) { d.extents[3].index = 1; }},
    {"no object pages", [](Directory& d) { d.extents[0].role = 1; }},
    {"no object pages", [](Directory& d) { d.extents[0].index = 1; }},
    {"no object pages", [](Directory& d) { d.extents[0].bytes = kPage; }},
    {"out of order", [](Directory& d) { d.objects[0].number = 0; }},
    {"out of order", [](Directory& d) { d.next_number = 3; }},
    {"out of order", [](Directory& d) { std::swap(d.objects[0], d.objects[1]); }},
    {"a name that another has", [](Directory& d) { d.objects[1] = entry(3, "one"); }},
    {"a name of 64 bytes", [](Directory& d) { d.objects[0].name_bytes = 64; }},
    {"a name that is empty", [](Directory& d) { d.objects[0] = entry(1, ""); }},
    {"a name that has a '/'", [](Directory& d) { d.objects[0].name[1] = '/'; }},
    {"not zero", [](Directory& d) { d.objects[0].name_bytes = 2; }},
    {"not zero", [](Directory& d) { d.objects[0].reserved[31] = 1; }},
};

TEST(Directory, EveryLieIsFound) {
  EXPECT_EQ(reported(sample()), "");
  EXPECT_NE(reported(sample(), 8).find("of generation 7, not 8"), std::string::npos);
  EXPECT_NE(reported(sample(), 7, kFileBytes - 1).find("beyond the end"), std::string::npos);
  for (const Lie& lie : kLies) {
    Directory directory = sample();
    lie.tell(directory);
    EXPECT_NE(reported(directory).find(lie.text), std::string::npos) << lie.text << ": " << reported(directory);
  }
}

TEST(Directory, CountsThatAreTooLargeAreDamage) {
  std::vector<std::byte> area = encode(sample());
  area.resize(kAreaBytes);
  for (const std::size_t field : {offsetof(AreaHeader, extents), offsetof(AreaHeader, objects)}) {
    std::vector<std::byte> lying = area;
    const std::uint32_t count = ~0u;
    std::memcpy(lying.data() + field, &count, 4);
    Directory read;
    EXPECT_EQ(decode(lying.data(), 7, kFileBytes, read), "its directory is damaged");
  }
}

TEST(Directory, Names) {
  for (const char* const good : {"a", "user embeddings", "ä", "用户", "😀", ".", "a\\b", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(flaw_in_name(good), "") << good;
  }
  EXPECT_EQ(flaw_in_name(std::string(63, 'x')), "");
  EXPECT_EQ(flaw_in_name(""), "is empty");
  EXPECT_NE(flaw_in_name(std::string(64, 'x')), "");
  EXPECT_NE(flaw_in_name("a/b"), "");
  EXPECT_NE(flaw_in_name("a:b"), "");
  const char* const bad[] = {"\n",
                             "a\tb",
                             "\x7f",
                             "\xc2\x80",
                             "\xc2\x9f",
                             "\xff",
                             "\x80",
                             "\xc3",
                             "\xc0\xaf",
                             "\xe0\x80\x80",
                             "\xed\xa0\x80",
                             "\xf4\x90\x80\x80",
                             "\xe4\xba",
                             "\xf0\x80\x80\x80",
                             "\xf5\x80\x80\x80",
                             "a\xe4\xba"};
  for (const char* const name : bad) EXPECT_NE(flaw_in_name(name), "") << name;
  EXPECT_NE(flaw_in_name(std::string_view("a\0b", 3)), "");
}

}  // namespace
}  // namespace holdfast::pool

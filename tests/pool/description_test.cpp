// description_test.cpp: what users say of an object's contents: kept, replaced as a whole, refused, and damaged.
#include <string>

#include "pool_test.hpp"

namespace holdfast::pool {
namespace {

class Descriptions : public testing::TestWithParam<const char*> {
 protected:
  Folder folder{GetParam()};
  std::string path = folder / "a.hold";
  const std::string longest = std::string(kDescriptionBytes, 'x');
};

TEST_P(Descriptions, AreKeptAndReplaced) {
  {
    const auto table = create(path);
    EXPECT_EQ(table->description(), "");
    table->describe(longest);
    EXPECT_EQ(table->description(), longest);
    EXPECT_EQ(inspect_table(path).description, longest);
    EXPECT_TRUE(inspect_table(path).clean) << "it is no change of the contents";
    table->mark_changed();
    table->describe(std::string("é\n\0!", 5));
    EXPECT_FALSE(inspect_table(path).clean);
    table->sync();
  }
  EXPECT_EQ(open(path)->description(), std::string("é\n\0!", 5));
  {
    const auto table = open(path, Access::read_only);
    EXPECT_EQ(table->description(), std::string("é\n\0!", 5));
    expect_error<ReadOnly>([&] { table->describe("other"); }, "");
  }
  open(path)->describe("");
  EXPECT_EQ(inspect_table(path).description, "");
}

TEST_P(Descriptions, AreOfACertainLength) {
  const auto table = create(path);
  table->describe("before");
  expect_error<InvalidArgument>([&] { table->describe(longest + "x"); }, "3073 bytes: give at most 3072");
  EXPECT_EQ(table->description(), "before");
}

TEST_P(Descriptions, AreWrittenOnlyIfTheyDiffer) {
  const auto table = create(path);
  table->describe("same");
  const std::uint64_t before = page_generation(path);
  table->describe("same");
  EXPECT_EQ(page_generation(path), before);
  table->describe("else");
  EXPECT_EQ(page_generation(path), before + 1);
}

TEST_P(Descriptions, WithUnusedBytesOrALengthThatCannotBeAreDamage) {
  create_closed(path);
  const std::vector<char> whole = read_all(path);
  const auto refused = [&](const std::function<void(ObjectPage&)>& edit, const std::string& text) {
    write_all(path, whole);
    edit_page(path, edit);
    expect_error<PoolCorrupt>([&] { open(path); }, text);
  };
  refused([](ObjectPage& page) { page.description_bytes = kDescriptionBytes + 1; }, "its description has 3073 bytes");
  refused([](ObjectPage& page) { page.description[0] = 'x'; }, "reserved bytes");
  write_all(path, whole);
  edit_page(path, [](ObjectPage& page) {
    page.description_bytes = 1;
    page.description[0] = 0xff;
  });
  EXPECT_EQ(open(path)->description(), "\xff") << "text that is none is its users' to judge";
}

INSTANTIATE_TEST_SUITE_P(Media, Descriptions, testing::Values("/dev/shm", "/tmp"),
                         [](const auto& info) { return std::string(info.param).substr(info.param[1] == 'd' ? 5 : 1); });

}  // namespace
}  // namespace holdfast::pool

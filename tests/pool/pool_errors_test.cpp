// pool_errors_test.cpp: bad paths, foreign and short files, other machines' runs: an error that helps, and nothing changed.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>

#include "pool_test.hpp"

namespace holdfast::pool {
namespace {

class PoolErrors : public testing::Test {
 protected:
  Folder folder{"/dev/shm"};
  std::string path = folder / "a.hold";

  /// All ways to reach the path fail with `Type` and `text`.
  template <class Type>
  void expect_refused(const std::string& where, const std::string& text) {
    for (const Access access : {Access::read_write, Access::read_only, Access::scratch}) {
      expect_error<Type>([&] { open(where, access); }, text);
    }
    expect_error<Type>([&] { inspect(where); }, text);
  }
};

TEST_F(PoolErrors, MissingPools) {
  expect_refused<PoolNotFound>(path, "does not exist");
  expect_refused<PoolNotFound>(folder / "no/such/folder/a.hold", "does not exist");
  create_closed(path);
  expect_refused<PoolNotFound>(path + "/a.hold", "does not exist");
  std::filesystem::create_symlink("nowhere", folder / "dangling");
  expect_refused<PoolNotFound>(folder / "dangling", "does not exist");
  expect_refused<InvalidArgument>("", "path");
  expect_refused<InvalidArgument>(std::string("a\0b", 3), "path");
}

TEST_F(PoolErrors, WhatIsNoFile) {
  expect_refused<MediumError>(folder.path(), "is a directory");
  expect_refused<MediumError>("/dev/null", "is a device");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  expect_refused<MediumError>(folder / "fifo", "is a FIFO");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  (folder / "socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  expect_refused<MediumError>(folder / "socket", "is a socket");
  close(fd);
  for (const char* const name : {"", "fifo", "socket"}) {
    for (const bool overwrite : {false, true}) {
      EXPECT_THROW(create(*name == 0 ? folder.path() : folder / name, small_shape(), overwrite), MediumError) << name;
    }
  }
  EXPECT_THROW(create("/dev/null", small_shape(), true), MediumError);
}

TEST_F(PoolErrors, CreatingWhereItCannotBe) {
  expect_error<MediumError>([&] { create(folder / "no/a.hold"); }, "folder does not exist");
  EXPECT_THROW(create("/proc/a.hold"), Error);
  EXPECT_THROW(create(folder / std::string(300, 'x')), SystemError);
  create_closed(path);
  const std::vector<char> before = read_all(path);
  expect_error<PoolExists>([&] { create(path); }, "exists already");
  EXPECT_EQ(read_all(path), before);
}

TEST_F(PoolErrors, CreatingWithWrongSizes) {
  const auto refused = [&](const std::function<void(TableShape&)>& change, const std::string& text) {
    TableShape shape = small_shape();
    change(shape);
    expect_error<InvalidArgument>([&] { create(path, shape); }, text);
    EXPECT_FALSE(std::filesystem::exists(path));
  };
  refused([](TableShape& s) { s.key_bytes = 4; }, "key_bytes");
  refused([](TableShape& s) { s.value_bytes = 65537; }, "value_bytes");
  refused([](TableShape& s) { s.levels = 0; }, "levels");
  refused([](TableShape& s) { s.levels = 6; }, "levels");
  refused([](TableShape& s) { s.slots = 0; }, "slots");
  refused([](TableShape& s) { s.slots = 9; }, "slots");
  refused([](TableShape& s) { s.hash_locations = 1u << 31; }, "hash_locations");
  refused([](TableShape& s) { s.top_level = 0; }, "top_level");
  refused([](TableShape& s) { s.top_level = 41; }, "top_level");
  refused([](TableShape& s) { s.cells = ~std::uint64_t{0}; }, "cells");
  refused([](TableShape& s) { s.cells = gphash::kMaxCells; }, "max_bytes");
  refused([](TableShape& s) { s.max_bytes = ~std::uint64_t{0}; }, "max_bytes");
}

TEST_F(PoolErrors, PermissionsAndReadOnlyFolders) {
  create_closed(path);
  if (geteuid() == 0) {  // root may do everything; a child that gave that up may not
    ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
    EXPECT_EQ(in_child([&] {
                if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
                expect_refused<MediumError>(path, "cannot be opened");
                expect_error<MediumError>([&] { create(folder / "b.hold"); }, "cannot be made in this folder");
                return testing::Test::HasFailure() ? 2 : 0;
              }),
              0);
    ASSERT_EQ(chmod(path.c_str(), 0444), 0);
    EXPECT_EQ(in_child([&] {
                if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
                expect_error<MediumError>([&] { open(path); }, "mode=\"r\"");
                return open(path, Access::read_only)->read_only() && !testing::Test::HasFailure() ? 0 : 2;
              }),
              0);
  } else {
    ASSERT_EQ(chmod(path.c_str(), 0), 0);
    expect_refused<MediumError>(path, "cannot be opened");
  }
}

TEST_F(PoolErrors, FilesThatAreNoPools) {
  write_all(path, {});
  expect_refused<PoolCorrupt>(path, "is empty");
  write_all(path, std::vector<char>(100, 'x'));
  expect_refused<PoolCorrupt>(path, "too few");
  write_all(path, std::vector<char>(1'000'000, 'x'));
  expect_refused<PoolCorrupt>(path, "is not a pool");
  write_all(path, std::vector<char>(1'000'000, 0));
  expect_refused<PoolCorrupt>(path, "is not a pool");
}

TEST_F(PoolErrors, NewerVersions) {
  create_closed(path);
  edit_superblock(path, [](Superblock& block) { block.version = kVersion + 1; });
  expect_refused<PoolVersion>(path, "format " + std::to_string(kVersion + 1));
  edit_superblock(
      path, [](Superblock& block) { block.checksum = 0; }, 3, false);
  expect_refused<PoolVersion>(path, "format " + std::to_string(kVersion + 1));
}

TEST_F(PoolErrors, CutShortAnywhere) {
  create_closed(path);
  const std::vector<char> whole = read_all(path);
  std::vector<std::uint64_t> ends = {
      0, 1, 8, 4095, 4096, 4097, 8191, 8192, 8208, 12287, 12288, area_offset(1), kFirstExtent - 1, whole.size() - 1};
  for (const auto& extent : inspect_table(path).extents) {
    for (const std::uint64_t at : {extent.offset, extent.offset + extent.bytes}) {
      ends.insert(ends.end(), {at - kPage, at - 16, at - 1, at, at + 1});
    }
  }
  for (const std::uint64_t end : ends) {
    if (end >= whole.size()) continue;
    write_all(path, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(end)});
    expect_refused<PoolCorrupt>(path, "");
    EXPECT_EQ(std::filesystem::file_size(path), end) << "nothing changed";
  }
  std::vector<char> longer = whole;
  longer.resize(whole.size() + 5000, 'x');
  write_all(path, longer);
  const auto pool = open(path);
  pool->add_level(9);
  for (unsigned i = 0; i < 4096; ++i) ASSERT_EQ(pool->level(9)[i].key, 0u) << "what was behind the end is gone";
}

TEST_F(PoolErrors, APowerCutIsDetected) {
  const auto other_boot = [](ObjectPage& page) { page.boot_id[3] ^= 0xff; };
  create(path)->mark_changed();
  edit_page(path, other_boot);
  EXPECT_FALSE(inspect_table(path).same_boot);
  for (const Access access : {Access::read_write, Access::read_only, Access::scratch}) {
    expect_error<PowerLost>([&] { open(path, access); }, "--salvage");
  }
  {
    const auto pool = open(path, Access::read_write, true);
    EXPECT_FALSE(pool->was_clean());
    pool->mark_changed();
    EXPECT_FALSE(inspect_table(path).same_boot) << "what it has lost it has lost, whatever changes from here on";
  }
  edit_page(path, [](ObjectPage& page) { page.domain = static_cast<std::uint32_t>(Domain::power); });
  open(path)->sync();
  EXPECT_TRUE(inspect_table(path).clean);
  edit_page(path, other_boot);
  EXPECT_TRUE(open(path)->was_clean()) << "a clean pool of another run of the machine is fine";
  EXPECT_NE(open(path, Access::read_only), nullptr);
}

TEST_F(PoolErrors, ALimitOnFileSizesIsNoSpace) {
  EXPECT_EQ(in_child([&] {
              const rlimit limit = {2 << 20, 2 << 20};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
              TableShape shape = small_shape();
              shape.cells = 100'000;
              expect_error<NoSpace>([&] { create(path, shape); }, "ulimit -f");
              if (std::filesystem::exists(path) || !std::filesystem::is_empty(folder.path())) return 2;
              const auto pool = create(path);
              expect_error<NoSpace>(
                  [&] {
                    while (true) pool->add_level(pool->shape().top_level + 1);
                  },
                  "ulimit -f");
              return testing::Test::HasFailure() ? 3 : 0;
            }),
            0);
}

TEST_F(PoolErrors, ALimitOnAddressSpaceIsNamed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes more address space than the limit";
#endif
  TableShape shape = small_shape();
  shape.cells = 100'000;
  create_closed(path, shape);
  EXPECT_EQ(in_child([&] {
              rlimit limit = {std::uint64_t{1} << 30, std::uint64_t{1} << 30};
              if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
              {
                const auto pool = open(path);  // less is reserved than the TiB asked for
                pool->grow_heap(100'000);
                expect_error<NoSpace>(
                    [&] {
                      pool->grow_heap(100'000'000);
                      pool->grow_heap(100'000'000);
                    },
                    "address space");
              }
              // What little the library needs to say no must not depend on what happens to be free here: sixteen
              // blocks, and one behind them, without which the allocator would return them to the system.
              std::array<void* volatile, 17> blocks{};
              for (auto& block : blocks) block = std::malloc(60'000);
              for (std::size_t i = 0; i + 1 < blocks.size(); ++i) std::free(blocks.at(i));
              limit = {std::uint64_t{32} << 20, std::uint64_t{32} << 20};
              if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
              expect_error<SystemError>([&] { open(path); }, "ulimit -v");
              return testing::Test::HasFailure() ? 3 : 0;
            }),
            0);
}

}  // namespace
}  // namespace holdfast::pool

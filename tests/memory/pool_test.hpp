// pool_test.hpp: a folder for a test's pools, on each medium that the machine has, and shapes to make them of.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "memory/pool.hpp"

namespace holdfast::memory {

/// A new folder, gone at the end of the test.
class Folder {
 public:
  explicit Folder(const std::string& parent) {
    std::string name = parent + "/holdfast-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder in " + parent);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A shape with few slots and a small heap of 128-byte cells.
inline PoolShape small_shape() {
  PoolShape shape;
  shape.value_bytes = 128;
  shape.top_level = 8;
  shape.cells = 100;
  shape.seed = 42;
  return shape;
}

inline std::vector<char> read_all(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

inline void write_all(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Changes the superblock of a closed pool in both copies, or in those of `copies`, and seals it again.
inline void edit_superblock(const std::string& path, const std::function<void(Superblock&)>& edit, unsigned copies = 3,
                            bool sealed = true) {
  std::vector<char> bytes = read_all(path);
  for (unsigned copy = 0; copy < 2; ++copy) {
    if ((copies >> copy & 1) == 0) continue;
    Superblock block;
    std::memcpy(&block, bytes.data() + copy * kSuperblockBytes, sizeof block);
    edit(block);
    if (sealed) seal(block);
    std::memcpy(bytes.data() + copy * kSuperblockBytes, &block, sizeof block);
  }
  write_all(path, bytes);
}

/// Runs `body` in a forked child and returns its exit status; 99 if it threw.
inline int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Expects that `statement` throws `Type` with a message that contains `text`.
template <class Type, class Statement>
void expect_error(Statement statement, const std::string& text) {
  try {
    statement();
    ADD_FAILURE() << "no error; expected one with: " << text;
  } catch (const Type& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
  }
}

inline std::unique_ptr<Pool> open(const std::string& path, Access access = Access::read_write, bool salvage = false) {
  return Pool::open(path, access, salvage, false);
}
inline std::unique_ptr<Pool> create(const std::string& path, const PoolShape& shape = small_shape(),
                                    bool overwrite = false) {
  return Pool::create(path, shape, overwrite, false);
}
/// Makes a pool and closes it cleanly.
inline void create_closed(const std::string& path, const PoolShape& shape = small_shape()) {
  create(path, shape)->sync();
}

}  // namespace holdfast::memory

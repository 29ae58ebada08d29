// faults_test.cpp: a fault meets the call that it is meant for, also where one run makes more calls than another.
#include "proof/faults.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <string>

#include "holdfast/error.hpp"
#include "support/folder.hpp"
#include "system/calls.hpp"

namespace holdfast::proof {
namespace {

constexpr std::size_t kMappedBytes = 4096;

/// Looks at its file once more than in its first run, as a store does whose clock ticked; and gives everything back.
class LooksLater : public Subject {
 public:
  void prepare(const std::string& folder) override { std::ofstream(folder + "/a") << "content"; }
  void run(const std::string& folder, const std::function<void()>& said) override {
    const std::string path = folder + "/a";
    const int fd = system::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) throw SystemError(path + " cannot be opened");
    struct stat status = {};
    if (has_run_) system::fstat(fd, status);
    has_run_ = true;
    void* const mapped = system::mmap(nullptr, kMappedBytes, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) system::munmap(mapped, kMappedBytes);
    system::flock(fd, LOCK_UN);
    system::close(fd);
    said();
  }
  std::string check(const std::string&, unsigned, Crash) override { return {}; }
  std::string go_on(const std::string&) override { return {}; }

 private:
  bool has_run_ = false;
};

TEST(FailEverywhere, MeetsTheSameCallInARunOfMoreCalls) {
  const test::Folder root;
  LooksLater subject;
  const Counts counts = fail_everywhere(subject, root.path(), false, Errors::all);
  for (const std::string& wrong : counts.wrong) ADD_FAILURE() << wrong;
  EXPECT_EQ(counts.calls, 5u) << "open, mmap, munmap, flock, close";
  EXPECT_GE(counts.faults, 4u) << "each of them that can fail";
  EXPECT_GE(counts.errors, 1u) << "of open";
}

}  // namespace
}  // namespace holdfast::proof

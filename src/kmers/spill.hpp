// spill.hpp: a file without a name, for the super-k-mers that memory does not hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::kmers {

class Spill {
 public:
  /// The first run begins at `begin` of the file: tests give offsets beyond 2^32.
  Spill(std::string folder, unsigned bins, std::uint64_t begin = 0)
      : folder_(std::move(folder)), begin_(begin), written_(begin), begun_(begin), runs_(bins) {}
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;
  ~Spill();

  /// What one call of `append` ... `end` wrote for a bin: whole super-k-mers.
  struct Run {
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
  };

  /// Appends to the file; all of a bin between two calls of `end` is one run. Throws NoSpace, SystemError.
  void append(const std::uint8_t* data, std::size_t bytes);
  void end(unsigned bin);
  void flush();  ///< before anything is read

  const std::vector<Run>& runs(unsigned bin) const { return runs_[bin]; }
  void read(const Run& run, std::uint8_t* to) const;
  std::uint64_t bytes() const { return begun_ - begin_; }

 private:
  void create();
  [[noreturn]] void fail(const char* what, int error) const;

  std::string folder_;
  int file_ = -1;
  const std::uint64_t begin_;
  std::uint64_t written_;  ///< where the file ends
  std::uint64_t begun_;    ///< where the next run begins
  std::vector<std::uint8_t> buffer_;
  std::vector<std::vector<Run>> runs_;
};

}  // namespace holdfast::kmers

// input.hpp: the bytes of one file or of standard input, inflated if they are gzip's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kmers/text/inflate.hpp"

namespace holdfast::kmers {

/// Thrown by who waited for a pipe, and shall stop: no error.
struct Stopped {};

class Input {
 public:
  /// "-": standard input. Throws InputError if it cannot be opened. A pipe may give nothing for long: who waits for it ends once
  /// `stopping`, if there is one, is true.
  explicit Input(std::string name, const std::atomic<bool>* stopping = nullptr);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  /// Fills `to`, but for the end of the file. Throws Stopped; InputError, with the reason alone: who knows the line adds it.
  std::size_t read(char* to, std::size_t bytes);

  std::size_t given() const { return given_; }  ///< bytes by the last call of `read`, which may have thrown
  const std::string& name() const { return name_; }
  bool compressed() const { return inflater_ != nullptr; }
  std::uint64_t size() const { return size_; }                                    ///< of the file; 0 if it is none
  std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }  ///< of the file, so far
  double reading() const { return reading_; }                                     ///< seconds
  double inflating() const { return inflating_; }

 private:
  void detect();
  void wait() const;
  std::size_t read_raw(std::uint8_t* to, std::size_t bytes);
  std::size_t read_plain(char* to, std::size_t bytes);
  std::size_t read_inflated(char* to, std::size_t bytes);

  std::string name_;
  const std::atomic<bool>* stopping_;
  int file_ = -1;
  bool regular_ = false;
  std::uint64_t size_ = 0;
  std::atomic<std::uint64_t> taken_ = 0;
  std::size_t given_ = 0;
  bool detected_ = false, at_end_ = false;
  std::vector<std::uint8_t> raw_;  ///< what was read and not yet given: the first bytes, or gzip's
  std::size_t raw_at_ = 0, raw_size_ = 0;
  std::unique_ptr<Inflater> inflater_;
  double reading_ = 0, inflating_ = 0;
};

}  // namespace holdfast::kmers

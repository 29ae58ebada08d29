// caller.hpp: one thread of a workload: its operations of a round, its batches, its checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "table/device_arrays.hpp"
#include "table/drive.hpp"

namespace holdfast::bench {

class Caller {
 public:
  Caller(Target& target, const Spec& spec, const Distribution& distribution, unsigned number);

  std::uint64_t rounds() const { return (operations_ + round_ - 1) / round_; }
  void prepare();  ///< draws the operations of the next round
  void run();      ///< submits them; the timed part
  void verify();   ///< checks every answer
  /// Adds what this caller did to `outcome`.
  void report(Outcome& outcome) const;

 private:
  struct Arrays {  ///< of one round; the batches are consecutive rows
    std::vector<std::uint64_t> keys;
    std::vector<std::byte> values, out;
    std::vector<Status> statuses;
    DeviceArray device_keys, device_values, device_out, device_statuses;
    void allocate(std::size_t rows, std::size_t value_bytes, bool with_values, bool with_out, bool on_device);
    void upload(std::size_t rows, std::size_t value_bytes);
    void download(std::size_t rows, std::size_t value_bytes);
    Work work(std::size_t row, std::size_t rows, std::size_t value_bytes, bool on_device);
  };

  Kind draw_kind();
  std::uint64_t draw_item(Kind kind, std::uint64_t newest);
  std::uint64_t inserted_item(std::uint64_t turn) const;
  void add(std::size_t row, Kind kind, std::uint64_t key);
  bool right(std::size_t row, std::size_t& rewrite) const;

  Target& target_;
  const Spec& spec_;
  const Distribution& distribution_;
  const unsigned number_;
  const std::size_t value_bytes_;
  Random random_;
  std::uint64_t operations_ = 0;  ///< of this caller in all
  std::size_t round_ = 0;         ///< rows of a full round
  bool pure_ = false;             ///< all operations are of one kind
  Op pure_op_ = Op::find;

  std::uint64_t done_ = 0, inserts_ = 0, turn_ = 0, version_ = 0;
  std::size_t rows_ = 0;  ///< of this round
  std::vector<Kind> kinds_;
  std::vector<std::uint8_t> ops_;
  DeviceArray device_ops_;
  Arrays main_, rewrite_;                  ///< the batches; the second halves of read-modify-writes
  std::vector<std::size_t> rewrite_ends_;  ///< one a batch
  std::uint64_t wrong_ = 0;
  std::array<std::uint64_t, kKinds> count_ = {};
  std::vector<double> batch_us_;
  std::array<std::vector<double>, kKinds> kind_us_;
};

}  // namespace holdfast::bench

// execution.hpp: executes requests, and releases the answers of batches that show nothing that is not durable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "store/cpu/group.hpp"
#include "store/pipeline/shared.hpp"

namespace holdfast::store::pipeline {

/// For one thread.
class Execution {
 public:
  explicit Execution(Shared& shared) : shared_(shared) {}
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Executes requests in their order, in one use of the store, and leaves `items` empty. `lookup`, if given, was begun, and its rows from `first`
  /// on are theirs.
  void run(std::vector<Item>& items, cpu::Engine::Lookup* lookup = nullptr, std::size_t first = 0);
  /// The same of reads, which are the first rows of `lookup`.
  void run_reads(std::vector<Item>& items, cpu::Engine::Lookup& lookup);
  /// Ends batches.
  void release();
  /// Whether answers wait for their release.
  bool holds_answers() const { return executed_ != nullptr; }

  /// Before a batch is submitted.
  static void begin(StoreBatch& batch, Queue& queue);
  /// It was not submitted.
  static void take_back(StoreBatch& batch);
  /// All its rows have their answers. The caller may use it and end it afterwards.
  static void end(StoreBatch& batch);
  static bool reads(const Item& item) { return request_of(item).op == StoreOp::get; }
  static const StoreRequest& request_of(const Item& item) { return item.batch->requests_[item.row]; }

 private:
  template <class Execute>
  void run_by(std::vector<Item>& items, const Execute& execute);
  void fail(std::span<const Item> items, bool reads_too);
  void execute(cpu::Engine& engine, std::span<const Item> items, const cpu::LookedUp* looked_up);
  void execute_reads(cpu::Engine& engine, std::span<const Item> items, cpu::Engine::Lookup& lookup);
  template <class LookAt>
  cpu::Look read(cpu::Engine& engine, const Item& item, const LookAt& look);
  void change(cpu::Engine& engine, cpu::Engine::Group& group, const Item& item);
  std::uint64_t newest(const cpu::Engine& engine) const;
  void shows(StoreBatch& batch, std::uint64_t number);
  void ended(const Item& item);

  Shared& shared_;
  StoreBatch* executed_ = nullptr;  ///< the first of those whose answers were not released yet
  StoreBatch** last_ = &executed_;  ///< where the next one is entered
  cpu::LookedAgain looked_again_;
};

/// The keys of requests.
struct Keys {
  std::span<const Item> items;
  std::span<const std::byte> operator[](std::size_t i) const { return of(Execution::request_of(items[i])); }
  Key key(std::size_t i) const {
    const std::span<const std::byte> bytes = (*this)[i];
    return {bytes.data(), static_cast<std::uint16_t>(bytes.size()), items[i].hash};
  }
  static std::span<const std::byte> of(const StoreRequest& request) {
    return {reinterpret_cast<const std::byte*>(request.key.data()), request.key.size()};
  }
};

}  // namespace holdfast::store::pipeline

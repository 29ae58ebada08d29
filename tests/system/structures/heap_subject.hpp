// heap_subject.hpp: a heap that belongs to no table, under crashes, power cuts and faults: it grows, shrinks and is written to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../../heap/heap_object.hpp"
#include "proof/subject.hpp"

namespace holdfast::proof {

/// A word of each page of the heap.
struct HeapState {
  std::vector<std::uint64_t> pages;
  bool synced = true;  ///< all of it survives a power cut
};

using HeapScene = std::unique_ptr<heap::HeapObject>;

struct HeapStep {
  std::function<void(HeapState&)> intended;  ///< what there is afterwards
  std::function<void(HeapScene&)> act;
};

HeapStep grow_heap(std::uint64_t pages, std::uint64_t version);  ///< by so many, and writes to them
HeapStep shrink_heap(std::uint64_t pages);                       ///< to so many
HeapStep write_heap(std::uint64_t page, std::uint64_t version);
HeapStep sync_heap();
HeapStep close_heap();
/// Another object gets the space behind the heap, so that it grows and shrinks in pieces.
HeapStep end_adjacency();

class HeapSubject : public Subject {
 public:
  /// The heap has four pages.
  explicit HeapSubject(std::vector<HeapStep> steps) : steps_(std::move(steps)) {}

  void prepare(const std::string& folder) override;
  void run(const std::string& folder, const std::function<void()>& said) override;
  std::string check(const std::string& folder, unsigned steps, Crash crash) override;
  std::string go_on(const std::string& folder) override;

 private:
  void probe(HeapScene& scene);

  const std::vector<HeapStep> steps_;
  std::vector<HeapState> states_;    ///< after so many steps of the run
  std::vector<HeapState> intended_;  ///< after one more, if it goes well
};

}  // namespace holdfast::proof

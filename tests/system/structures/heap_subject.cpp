// heap_subject.cpp: the steps of a heap, and what a crash or a fault may leave of it.
#include "heap_subject.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "holdfast/error.hpp"
#include "proof/verdicts.hpp"

namespace holdfast::proof {

namespace {

using pool::kPage;

constexpr const char* kHeapFile = "/a.hold";
constexpr std::uint64_t kFirstPages = 4, kHeapProbe = 9'000'000;

std::uint64_t* page_word(const HeapScene& scene, std::uint64_t page) {
  return reinterpret_cast<std::uint64_t*>(scene->heap.base() + page * kPage + 64);
}

void write_page(const HeapScene& scene, std::uint64_t page, std::uint64_t value) {
  std::uint64_t* const word = page_word(scene, page);
  *word = value;
  scene->persist().flush(word, sizeof *word);
  scene->persist().fence();
}

std::uint64_t page_value(std::uint64_t page, std::uint64_t version) { return version << 32 | (page + 1); }

HeapScene open_heap(const std::string& folder) { return heap::HeapObject::open(folder + kHeapFile, {.advice = ""}); }

HeapState read_heap(const HeapScene& scene) {
  HeapState state;
  for (std::uint64_t page = 0; page < scene->heap.bytes() / kPage; ++page) {
    state.pages.push_back(*page_word(scene, page));
  }
  return state;
}

/// What is wrong with a heap between two states; pages that a step adds have any content until it is acknowledged.
std::string compare_heap(const HeapState& found, const HeapState& before, const HeapState& after) {
  const std::size_t size = found.pages.size();
  if (size != before.pages.size() && size != after.pages.size()) return "it has " + std::to_string(size) + " pages; ";
  for (std::size_t page = 0; page < std::min(size, before.pages.size()); ++page) {
    const std::uint64_t word = found.pages[page];
    const bool is_new = page < after.pages.size() && word == after.pages[page];
    if (word != before.pages[page] && !is_new) return "page " + std::to_string(page) + " has a word of no step; ";
  }
  return {};
}

/// A step that changes the heap.
HeapStep changing(std::function<void(HeapState&)> change, std::function<void(HeapScene&)> act) {
  return {[=](HeapState& state) {
            state.synced = false;
            change(state);
          },
          [=](HeapScene& scene) {
            scene->mark_changed();
            act(scene);
          }};
}

void mark_heap_synced(HeapState& state) { state.synced = true; }

}  // namespace

HeapStep grow_heap(std::uint64_t pages, std::uint64_t version) {
  return changing(
      [=](HeapState& state) {
        for (std::uint64_t i = 0; i < pages; ++i) state.pages.push_back(page_value(state.pages.size(), version));
      },
      [=](HeapScene& scene) {
        const std::uint64_t before = scene->heap.bytes();
        scene->heap.grow(before + pages * kPage, before + pages * kPage);
        for (std::uint64_t page = before / kPage; page < before / kPage + pages; ++page) {
          write_page(scene, page, page_value(page, version));
        }
      });
}
HeapStep shrink_heap(std::uint64_t pages) {
  return changing([=](HeapState& state) { state.pages.resize(pages); },
                  [=](HeapScene& scene) { scene->heap.shrink(pages * kPage); });
}
HeapStep write_heap(std::uint64_t page, std::uint64_t version) {
  return changing([=](HeapState& state) { state.pages.at(page) = page_value(page, version); },
                  [=](HeapScene& scene) { write_page(scene, page, page_value(page, version)); });
}
HeapStep sync_heap() {
  return {mark_heap_synced, [](HeapScene& scene) { scene->sync(); }};
}
HeapStep close_heap() {
  return {mark_heap_synced, [](HeapScene& scene) {
            scene->sync();
            scene.reset();
          }};
}
HeapStep end_adjacency() {
  return {[](HeapState&) {}, [](HeapScene& scene) { scene->end_adjacency(2 * kPage); }};
}

void HeapSubject::prepare(const std::string& folder) {
  HeapState first;
  pool::NewPool pool(folder + kHeapFile, false);
  HeapScene scene = heap::HeapObject::create(pool.pool(), kFirstPages * kPage, {.advice = ""});
  scene->mark_changed();
  for (std::uint64_t page = 0; page < kFirstPages; ++page) {
    write_page(scene, page, page_value(page, 1));
    first.pages.push_back(page_value(page, 1));
  }
  scene->sync();
  pool.publish();
  states_ = intended_ = {first};
}

void HeapSubject::run(const std::string& folder, const std::function<void()>& said) {
  states_.resize(1);
  intended_ = states_;
  HeapScene scene = open_heap(folder);
  for (const HeapStep& step : steps_) {
    step.intended(intended_.back());
    try {
      step.act(scene);
    } catch (const Error&) {
      states_.back().synced = states_.back().synced && intended_.back().synced;
      probe(scene);
      throw;
    }
    states_.push_back(intended_.back());
    intended_.push_back(intended_.back());
    said();
  }
}

/// After a step that failed, the heap works, or every use of it says that it does not.
void HeapSubject::probe(HeapScene& scene) {
  if (!scene) return;
  HeapState &state = states_.back(), &next = intended_.back();
  const std::string wrong = compare_heap(read_heap(scene), state, next);
  if (!wrong.empty()) throw std::logic_error("after an error the heap is wrong: " + wrong);
  tried([&] {
    state.synced = next.synced = false;
    scene->mark_changed();
    write_page(scene, 0, kHeapProbe);
    state.pages[0] = next.pages[0] = kHeapProbe;
    const std::uint64_t before = scene->heap.bytes();
    scene->heap.grow(before + kPage, before + kPage);
    scene->heap.shrink(before);
  });
  tried([&] {
    scene->sync();
    state = next = read_heap(scene);
  });
}

std::string HeapSubject::check(const std::string& folder, unsigned steps, Crash crash) {
  const HeapState &before = states_[steps], &after = intended_[steps];
  const auto look = [&] {
    HeapScene scene = open_heap(folder);
    const std::string wrong = compare_heap(read_heap(scene), before, after);
    if (scene->extent_bytes() != scene->heap.bytes()) return wrong + "its extents have other bytes; ";
    scene->sync();
    return wrong;
  };
  return verdict(crash, before.synced && after.synced, look, [] {});
}

/// It grows and shrinks, and is the same when it is opened again.
std::string HeapSubject::go_on(const std::string& folder) {
  return used_further([&] {
    HeapState expected;
    {
      HeapScene scene = open_heap(folder);
      grow_heap(3, 7).act(scene);
      shrink_heap(scene->heap.bytes() / kPage - 2).act(scene);
      grow_heap(2, 8).act(scene);
      expected = read_heap(scene);
      scene->sync();
    }
    HeapScene scene = open_heap(folder);
    const HeapState found = read_heap(scene);
    return std::string(found.pages == expected.pages ? "" : "it is not the same when it is opened again");
  });
}

}  // namespace holdfast::proof

// folklore_impl.hpp: Folklore over one tile. Include only in files for its instruction set.
#pragma once

#include <algorithm>

#include "dramhit/folklore.hpp"
#include "structures/dramhit/pages.hpp"
#include "structures/dramhit/protocol/change.hpp"

namespace holdfast::bench {

template <class Slots>
class FolkloreFor final : public Folklore {
 public:
  FolkloreFor(std::uint64_t capacity, bool populate)
      : geometry_(std::max(capacity / 3 + 1, dramhit::kLeastLines), 0x1234567),
        memory_((geometry_.lines() + dramhit::kMostDistance) * sizeof(dramhit::Line), {true, true, populate}),
        lines_(reinterpret_cast<dramhit::Line*>(memory_.data())) {}

  void run(Op op, const std::uint64_t* keys, const std::uint64_t* values, std::uint64_t* out, Status* statuses,
           std::size_t n) override {
    if (op == Op::find) {
      for (std::size_t i = 0; i < n; ++i) {
        const dramhit::Answer answer = find(keys[i]);
        out[i] = answer.value;
        statuses[i] = answer.status;
      }
    } else {
      for (std::size_t i = 0; i < n; ++i) statuses[i] = change({op, values[i], with_}, keys[i]).status;
    }
  }

 private:
  using LineOutcome = dramhit::LineOutcome;

  dramhit::Answer find(std::uint64_t key) const {
    const dramhit::Place place = geometry_.place(geometry_.hash(key));
    dramhit::Line* line = lines_ + place.line;
    dramhit::Answer answer;
    unsigned reach = 0;
    for (std::uint64_t want = place.want;;) {
      const LineOutcome outcome = dramhit::find(Slots{}, line, want, reach, answer);
      if (outcome == LineOutcome::done) return answer;
      if (outcome == LineOutcome::next) {
        ++line;
        want += dramhit::kOneLineOn;
      }
    }
  }

  dramhit::Answer change(const dramhit::Change& what, std::uint64_t key) const {
    const dramhit::Place place = geometry_.place(geometry_.hash(key));
    dramhit::Line* line = lines_ + place.line;
    dramhit::Answer answer;
    unsigned reach = 0;
    for (std::uint64_t want = place.want;;) {
      const LineOutcome outcome = dramhit::change(Slots{}, line, want, reach, what, answer);
      if (outcome == LineOutcome::done) return answer;
      if (outcome == LineOutcome::out_of_reach) return {Status::no_space, 0};
      if (outcome == LineOutcome::next) {
        ++line;
        want += dramhit::kOneLineOn;
      }
    }
  }

  const Combining with_;
  dramhit::Geometry geometry_;
  dramhit::Pages memory_;
  dramhit::Line* lines_;
};

}  // namespace holdfast::bench

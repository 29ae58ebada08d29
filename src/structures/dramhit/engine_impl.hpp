// engine_impl.hpp: the engine over one form of items. Include only in files for one instruction set, as lane_impl.hpp.
#pragma once

#include <type_traits>

#include "structures/dramhit/lane_impl.hpp"

namespace holdfast::dramhit {

/// `Owner` is the form for the only thread that changes a partition, or void.
template <class Form, class Owner>
class EngineFor final : public Engine {
 public:
  const char* tile() const override { return Form::kName; }
  std::unique_ptr<Lane> lane(Core& core, unsigned depth) const override {
    return std::make_unique<LaneFor<Form>>(core, depth);
  }
  std::unique_ptr<Lane> owner_lane([[maybe_unused]] Core& core, [[maybe_unused]] unsigned depth) const override {
    if constexpr (std::is_void_v<Owner>) {
      return nullptr;
    } else {
      return std::make_unique<LaneFor<Owner>>(core, depth);
    }
  }
  bool move(const View& from, const View* to, std::uint64_t begin, std::uint64_t end,
            std::uint64_t& items) const override {
    for (std::uint64_t line = begin; line < end; ++line) {
      if (!Form::move(from, to, line, items)) return false;
    }
    return true;
  }
  void thaw(const View& view, std::uint64_t begin, std::uint64_t end) const override {
    for (std::uint64_t line = begin; line < end; ++line) Form::thaw(view, line);
  }
  std::size_t items_of(const View& view, std::uint64_t line, std::uint64_t from, std::byte* keys, std::byte* values,
                       std::uint64_t* hashes, std::size_t room) const override {
    return Form::items_of(view, line, from, keys, values, hashes, room);
  }
};

}  // namespace holdfast::dramhit

// driver.hpp: the shipped driver, compiled over the model's memory.
#pragma once

#include <memory>

#include "structures/gphash/cpu/driver.hpp"
#include "structures/gphash/model/world.hpp"

namespace holdfast::gphash::model {

std::unique_ptr<cpu::Driver> make_model_driver(Flavour flavour, const gphash::RuntimeShape& shape);

/// Rows [0, count) as one run on one key (structures/gphash/protocol/run.hpp), which the phased drivers use. Tries until the key can be claimed.
gphash::Outcome apply_run(Flavour flavour, const gphash::View<gphash::RuntimeShape>& view, const gphash::Rows& rows,
                          unsigned count, const std::byte* key, const gphash::Permits& permits, cpu::Tally& tally);

/// A batch in phases (structures/gphash/protocol/phases.hpp), as the GPU's driver schedules it. Keys may repeat.
void run_phases(Flavour flavour, const gphash::View<gphash::RuntimeShape>& view, const gphash::Rows& rows,
                const std::byte* keys, unsigned count, cpu::Tally& tally);
/// The same of variable-length pairs, whose keys have kKeyWords words, on resident buckets; no row reads.
void run_pair_phases(const Layout& layout, const gphash::Rows& rows, const std::byte* keys, unsigned count,
                     cpu::Tally& tally);

}  // namespace holdfast::gphash::model

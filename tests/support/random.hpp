// random.hpp: the seeded generator of proofs, under its names in tests.
#pragma once

#include "proof/runs/random.hpp"

namespace holdfast::test {

using proof::mix;
using proof::Random;

}  // namespace holdfast::test

// errors.hpp: what tests ask of the errors that a call throws.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>

#include "holdfast/error.hpp"

namespace holdfast::test {

/// The message of the `Type` that `act` throws; "" if it throws none.
template <class Type = Error, class Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const Type& error) {
    return error.what();
  }
  return "";
}

/// Expects that `act` throws `Type` with a message that contains `text`.
template <class Type = Error, class Act>
void expect_error(const Act& act, const std::string& text) {
  try {
    act();
    ADD_FAILURE() << "no error; expected one with: " << text;
  } catch (const Type& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what() << "\nlacks: " << text;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what() << "\nexpected one with: " << text;
  }
}

}  // namespace holdfast::test

// registry_test.cpp: a kill subject whose parts are missing or registered twice gives one clear error, and ends no process before main.
#include "proof/kill/registry.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace holdfast::proof::kill {
namespace {

std::string error_of_registry() {
  try {
    registered_subjects();
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

std::unique_ptr<Subject> no_subject(const Options&, Shared&) { return nullptr; }
std::unique_ptr<Writer> no_writer(Shared&) { return nullptr; }
std::unique_ptr<Writer> another_writer(Shared&) { return nullptr; }
std::unique_ptr<Reader> no_reader(Shared&) { return nullptr; }

SubjectKind kind_of(const char* name, unsigned share) {
  SubjectKind kind{{.name = name, .share = share}};
  kind.make = no_subject;
  return kind;
}

/// One test, since what is registered stays.
TEST(KillRegistry, NamesTheSubjectWhosePartIsMissingOrThereTwice) {
  EXPECT_EQ(error_of_registry(), "");
  register_subject(kind_of("small", 10));
  EXPECT_EQ(error_of_registry(), "the kill subject small has no RegisterChildren: add one to its folder");
  register_children("small", no_writer, no_reader);
  register_children("large", no_writer, no_reader);
  EXPECT_EQ(error_of_registry(), "the kill subject large has children and no RegisterSubject: add one to its folder");
  register_subject(kind_of("large", 100));
  EXPECT_EQ(error_of_registry(), "");
  ASSERT_EQ(registered_subjects().size(), 2u);
  EXPECT_EQ(registered_subjects()[0].share, 100u) << "the largest share first";
  EXPECT_NO_THROW(register_children("small", another_writer, no_reader)) << "static objects register";
  EXPECT_EQ(error_of_registry(),
            "the kill subject small has its children registered twice: give one of them another name");
  EXPECT_NO_THROW(register_subject(kind_of("large", 1)));
  EXPECT_NE(error_of_registry().find("small"), std::string::npos) << "one error, the first";
}

}  // namespace
}  // namespace holdfast::proof::kill

// address_test.cpp: addresses that are read and written, and those that are refused.
#include "system/net/address.hpp"

#include <gtest/gtest.h>

#include "holdfast/error.hpp"

namespace holdfast::system {
namespace {

TEST(Address, IsWrittenAsItIsRead) {
  for (const char* const text :
       {"127.0.0.1:11211", "0.0.0.0:0", "[::1]:65535", "[2001:db8::1]:80", "unix:/run/a b.sock"}) {
    EXPECT_EQ(Address::parse(text).text(), text);
  }
  EXPECT_EQ(Address::parse("127.0.0.1:11211").port(), 11211);
  EXPECT_EQ(Address::parse("[::1]:80").port(), 80);
  EXPECT_TRUE(Address::parse("unix:a").is_unix());
  EXPECT_EQ(Address::parse("unix:a").path(), "a");
  EXPECT_EQ(Address::parse("unix:" + std::string(107, 'a')).path(), std::string(107, 'a'));
}

TEST(Address, IsRefusedWithWhatToGive) {
  const std::string zero("unix:/a\0b", 9);
  for (const std::string& text :
       {std::string(), std::string("127.0.0.1"), std::string("127.0.0.1:"), std::string("127.0.0.1:65536"),
        std::string("127.0.0.1:-1"), std::string("127.0.0.1:80x"), std::string("localhost:80"), std::string("::1:80"),
        std::string("[::1]80"), std::string("[]:80"), std::string("[127.0.0.1]:80"), std::string("1.2.3:80"),
        std::string("unix:"), "unix:" + std::string(108, 'a'), zero}) {
    try {
      Address::parse(text);
      ADD_FAILURE() << text;
    } catch (const InvalidArgument& error) {
      const std::string message = error.what(), shown = text.c_str();  // up to a zero byte
      EXPECT_NE(message.find("\"" + shown + "\""), std::string::npos) << message;
      EXPECT_NE(message.find("127.0.0.1:11211"), std::string::npos) << message;
    }
  }
}

TEST(Address, OfAClientWithoutANameIsEmpty) {
  sockaddr_storage address = {};
  address.ss_family = AF_UNIX;
  EXPECT_EQ(Address::of(address, sizeof(sa_family_t)).path(), "");
  EXPECT_EQ(Address::of(address, sizeof(sa_family_t)).text(), "unix:");
  EXPECT_EQ(Address().port(), 0);
}

}  // namespace
}  // namespace holdfast::system

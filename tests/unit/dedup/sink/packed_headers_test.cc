#include "dedup/sink/packed_headers.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace onceward {
namespace {

using namespace std::string_view_literals;

TEST(HeaderBytes, NamesValuesAndTheirOrderComeBack) {
    const std::array<Header, 4> headers{Header{"a", "1"}, Header{"a", std::nullopt}, Header{"", ""},
                                        Header{"\0\xff"sv, "\0"sv}};
    const std::string bytes = header_bytes(headers);
    const std::vector<Header> back = headers_of(bytes);
    ASSERT_EQ(back.size(), headers.size());
    for (std::size_t i = 0; i < headers.size(); ++i) {
        EXPECT_EQ(back[i].name, headers[i].name);
        EXPECT_EQ(back[i].value, headers[i].value);
    }
}

TEST(HeaderBytes, NoneAreNoBytes) {
    EXPECT_EQ(header_bytes({}), "");
    EXPECT_TRUE(headers_of("").empty());
}

TEST(HeaderBytes, WhatIsCutAnywhereIsRefused) {
    const std::string bytes = header_bytes(std::array{Header{"name", "value"}});
    for (std::size_t size = 1; size < bytes.size(); ++size) {
        EXPECT_THROW(headers_of(std::string_view(bytes).substr(0, size)), std::runtime_error)
            << size;
    }
    EXPECT_THROW(headers_of("\xff\xff\xff\xff\0\0\0\0"sv), std::runtime_error) << "no name";
}

}  // namespace
}  // namespace onceward

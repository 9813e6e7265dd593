#include "gateway/requests/route_table.h"

#include <gmock/gmock.h>

namespace onceward {
namespace {

using Kind = RouteTable::Match::Kind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const RouteTable& table() {
    static const RouteTable made({{"POST", "/orders"},
                                  {"GET", "/orders/{id}"},
                                  {"DELETE", "/orders/{order}"},
                                  {"POST", "/orders/latest"},
                                  {"POST", "/orders/{id}/pay"},
                                  {"POST", "/{what}/new/pay"},
                                  {"POST", "/"}});
    return made;
}

// `found 2`, `no such path`, or what `Allow` says.
std::string match(const std::string& method, const std::string& path) {
    const RouteTable::Match found = table().match(method, path);
    switch (found.kind) {
        case Kind::found: return "found " + std::to_string(found.route);
        case Kind::no_such_path: return "no such path";
        case Kind::other_method: return found.allow;
    }
    return "";
}

TEST(RouteTable, AWordIsItselfAndAParameterAnyPart) {
    EXPECT_EQ(match("POST", "/orders"), "found 0");
    EXPECT_EQ(match("GET", "/orders/42"), "found 1");
    EXPECT_EQ(match("POST", "/orders/42/pay"), "found 4");
    EXPECT_EQ(match("POST", "/"), "found 6");
    EXPECT_THAT(table().match("GET", "/orders/a%2Fb").parameters, ElementsAre(Pair("id", "a/b")));
    EXPECT_THAT(table().match("DELETE", "/orders/7").parameters, ElementsAre(Pair("order", "7")));
    EXPECT_THAT(table().match("POST", "/orders").parameters, IsEmpty());
}

TEST(RouteTable, NothingElseFits) {
    for (const char* path : {"", "orders", "/order", "/orders/", "/orders//pay", "/orders/1/2/3",
                             "/ORDERS", "//", "/orders/1/pay/", "/%"}) {
        EXPECT_EQ(match("POST", path), "no such path") << path;
    }
}

// A limit that is set on a route must not be passed by in another spelling of its path.
TEST(RouteTable, AnotherSpellingOfAPathIsThePath) {
    EXPECT_EQ(match("POST", "/%6Frder%73"), "found 0");
    EXPECT_EQ(match("POST", "/orders%2F"), "no such path");
}

TEST(RouteTable, TheWordWinsOverTheParameterInTheFirstPlace) {
    EXPECT_EQ(match("POST", "/orders/latest"), "found 3");
    EXPECT_EQ(match("GET", "/orders/latest"), "POST");
    EXPECT_EQ(match("POST", "/orders/new/pay"), "found 4");
    EXPECT_EQ(match("POST", "/carts/new/pay"), "found 5");
}

TEST(RouteTable, AnotherMethodIsToldWhichThereAre) {
    EXPECT_EQ(match("PUT", "/orders"), "POST");
    EXPECT_EQ(match("POST", "/orders/42"), "DELETE, GET");
    EXPECT_EQ(match("post", "/orders"), "POST");
}

TEST(RouteTable, TheOperationIsThePatternAndNotThePath) {
    EXPECT_EQ(operation_of({"POST", "/orders/{id}/pay"}), "POST /orders/{id}/pay");
}

TEST(RouteTable, PatternsWithFaultsAreNamed) {
    EXPECT_EQ(fault_of({"POST", "/orders/{id}"}), "");
    EXPECT_EQ(fault_of({"POST", "/"}), "");
    for (const RoutePattern& pattern : {RoutePattern{"post", "/a"},
                                        {"", "/a"},
                                        {"POST", ""},
                                        {"POST", "a"},
                                        {"POST", "/a?b"},
                                        {"POST", "/a b"},
                                        {"POST", "/%41"},
                                        {"POST", "/{}"},
                                        {"POST", "/{a}b"},
                                        {"POST", "/a{b}"},
                                        {"POST", "/{a"},
                                        {"POST", "/{a-b}"},
                                        {"POST", "/{a}/{a}"},
                                        {"POST", "/{{a}}"}}) {
        EXPECT_NE(fault_of(pattern), "") << pattern.method << " " << pattern.path;
    }
}

TEST(RouteTable, PatternsThatTakeTheSameRequestsAreAmbiguous) {
    EXPECT_TRUE(ambiguous({"POST", "/a/{x}"}, {"POST", "/a/{y}"}));
    EXPECT_FALSE(ambiguous({"POST", "/a/{x}"}, {"GET", "/a/{x}"}));
    EXPECT_FALSE(ambiguous({"POST", "/a/{x}"}, {"POST", "/a/b"}));
    EXPECT_FALSE(ambiguous({"POST", "/a/{x}"}, {"POST", "/{x}/a"}));
}

}  // namespace
}  // namespace onceward

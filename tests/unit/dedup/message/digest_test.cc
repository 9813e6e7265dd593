#include "dedup/message/digest.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

namespace onceward {
namespace {

// p() { printf '%016x' ${#1} | xxd -r -p; printf '%s' "$1"; }
// (p shop/payments; p acme; p header; p order-42) | sha256sum
//     f50aa7a63ab2ad2074a27ab066dc98f7ee35a2af6722c3824c03e1fb9b4869b2
// A change here makes every claim that users have stored unknown.
TEST(Digest, OfAKeyIsTheHashOfItsLengthPrefixedParts) {
    EXPECT_EQ(hex(digest_of({"shop/payments", "acme", "header", "order-42"})),
              "f50aa7a63ab2ad2074a27ab066dc98f7");
}

// printf abc | sha256sum: ba7816bf8f01cfea414140de5dae2223b00361a3...; the empty one:
// e3b0c44298fc1c14...
TEST(Digest, OfBytesIsTheirPlainHash) {
    EXPECT_EQ(hex(digest_of_bytes("abc")), "ba7816bf8f01cfea414140de5dae2223");
    EXPECT_EQ(hex(digest_of_bytes("")), "e3b0c44298fc1c149afbf4c8996fb924");
}

TEST(Digest, PartsCannotBeShiftedIntoEachOther) {
    const std::set<Digest> all{digest_of({"o", "a|b", "k", "c"}), digest_of({"o", "a", "k", "b|c"}),
                               digest_of({"o", "a", "b", "kc"}),  digest_of({"oa", "", "k", "c"}),
                               digest_of({"o", "a", "k", "c"}),   digest_of({"", "oa", "k", "c"})};
    EXPECT_EQ(all.size(), 6U);
}

TEST(Digest, EachPartCounts) {
    const Digest known = digest_of({"o", "t", "header", "42"});
    EXPECT_NE(known, digest_of({"p", "t", "header", "42"}));
    EXPECT_NE(known, digest_of({"o", "u", "header", "42"}));
    EXPECT_NE(known, digest_of({"o", "t", "record_key", "42"}));
    EXPECT_NE(known, digest_of({"o", "t", "header", "43"}));
    EXPECT_EQ(known, digest_of({"o", "t", "header", "42"}));
}

// libpqxx cut text at a NUL: a false duplicate, hence a lost message.
TEST(Digest, ANulDoesNotEndTheKey) {
    using std::string_literals::operator""s;
    const std::string short_text = "a\0"s, long_text = "a\0b"s;
    const std::set<Digest> all{digest_of({"o", "t", "k", "a"}),
                               digest_of({"o", "t", "k", short_text}),
                               digest_of({"o", "t", "k", long_text})};
    EXPECT_EQ(all.size(), 3U);
    EXPECT_NE(digest_of_bytes("a"), digest_of_bytes(short_text));
}

// The same letters composed and decomposed: bytes decide, nothing is normalised.
TEST(Digest, BytesDecideAndNotHowTheyLook) {
    EXPECT_NE(digest_of({"o", "t", "k", "\xC3\xA9"}), digest_of({"o", "t", "k", "e\xCC\x81"}));
    EXPECT_NE(digest_of({"o", "t", "k", "\xFF"}), digest_of({"o", "t", "k", "\xFE"}));
    EXPECT_NE(digest_of({"o", "t", "k", std::string(1 << 20, 'x')}),
              digest_of({"o", "t", "k", std::string((1 << 20) + 1, 'x')}));
}

TEST(Digest, IsTheSameOnEveryThread) {
    Digest other;
    std::thread([&] { other = digest_of({"o", "t", "k", "42"}); }).join();
    EXPECT_EQ(other, digest_of({"o", "t", "k", "42"}));
}

TEST(Digest, HexTakesBytesOfAnyNumberAndSign) {
    using std::string_literals::operator""s;
    EXPECT_EQ(hex("\x00\x7f\x80\xff"s), "007f80ff");
    EXPECT_EQ(hex(""), "");
}

TEST(Digest, APackedFingerprintComesBackAsItWas) {
    const Digest some = digest_of_bytes("abc");
    EXPECT_EQ(unpacked_fingerprint(packed_fingerprint(some)), some);
    EXPECT_EQ(unpacked_fingerprint(packed_fingerprint(std::nullopt)), std::nullopt);
}

TEST(Digest, AsAUuidIsWhatPostgresqlPrints) {
    EXPECT_EQ(uuid_text(digest_of_bytes("abc")), "ba7816bf-8f01-cfea-4141-40de5dae2223");
}

}  // namespace
}  // namespace onceward

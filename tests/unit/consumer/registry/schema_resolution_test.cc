#include "consumer/registry/schema_resolution.h"

#include <gtest/gtest.h>

#include "given_registry.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Kind = RegistryAnswer::Kind;
using test::GivenRegistry;
using test::schema_reply;

class SchemaResolution : public testing::Test {
  protected:
    // A version with references `name:subject:version`, in JSON.
    void give(const std::string& path, const std::string& text, const std::string& references,
              const std::string& base = "http://one") {
        registry.replies[base + path] = schema_reply(
            R"("schemaType":"PROTOBUF","schema":")" + text + R"(","references":[)" + references +
            "]");
    }
    static std::string reference(const std::string& name, int version = 1) {
        return R"({"name":")" + name + R"(.proto","subject":")" + name +
               R"(","version":)" + std::to_string(version) + "}";
    }
    Resolution resolve(ResolutionLimits limits = {}) {
        return RegistryAddresses({"http://one"}, registry.get(), limits).resolve({17, ""}, {});
    }

    GivenRegistry registry;
};

TEST_F(SchemaResolution, AReferenceComesBeforeThoseThatReferToIt) {
    give("/schemas/ids/17", "order", reference("item") + "," + reference("money"));
    give("/subjects/item/versions/1?deleted=true", "item", reference("money"));
    give("/subjects/money/versions/1?deleted=true", "money", "");
    const Resolution found = resolve();
    ASSERT_EQ(found.kind, Kind::found) << found.reason;
    EXPECT_EQ(found.schema->text, "order");
    EXPECT_EQ(found.schema->language, SchemaLanguage::protobuf);
    ASSERT_EQ(found.schema->references.size(), 2U);
    EXPECT_EQ(found.schema->references[0].name, "money.proto");
    EXPECT_EQ(found.schema->references[1].name, "item.proto");
    EXPECT_EQ(registry.asked.size(), 3U) << "what two refer to is asked for once";
}

TEST_F(SchemaResolution, ReferencesInACircleAreRefused) {
    give("/schemas/ids/17", "order", reference("item"));
    give("/subjects/item/versions/1?deleted=true", "item", reference("money"));
    give("/subjects/money/versions/1?deleted=true", "money", reference("item"));
    const Resolution found = resolve();
    EXPECT_EQ(found.kind, Kind::refused);
    EXPECT_EQ(found.reason,
              "has it with references in a circle, at `item.proto` (subject item, version 1)");
}

TEST_F(SchemaResolution, TwoVersionsUnderOneNameAreRefused) {
    give("/schemas/ids/17", "order", reference("item") + "," + reference("money", 2));
    give("/subjects/item/versions/1?deleted=true", "item", reference("money", 1));
    give("/subjects/money/versions/1?deleted=true", "money", "");
    EXPECT_EQ(resolve().kind, Kind::refused);
}

TEST_F(SchemaResolution, DepthNumberAndBytesAreBounded) {
    give("/schemas/ids/17", "order", reference("item"));
    give("/subjects/item/versions/1?deleted=true", "item", reference("money"));
    give("/subjects/money/versions/1?deleted=true", "money", "");
    EXPECT_EQ(resolve({.depth = 2}).kind, Kind::found);
    EXPECT_EQ(resolve({.depth = 1}).kind, Kind::refused);
    EXPECT_EQ(resolve({.references = 1}).kind, Kind::refused);
    EXPECT_EQ(resolve({.bytes = 14}).kind, Kind::found);
    EXPECT_EQ(resolve({.bytes = 13}).kind, Kind::refused);
}

TEST_F(SchemaResolution, AReferenceThatIsNotThereIsRefused) {
    give("/schemas/ids/17", "order", reference("item"));
    const Resolution found = resolve();
    EXPECT_EQ(found.kind, Kind::refused);
    EXPECT_EQ(found.reason, "has it without its reference `item.proto` (subject item, version 1)");
}

// The registry gives the schema itself by its number all the same.
TEST_F(SchemaResolution, AReferenceWhoseVersionWasSoftDeletedIsFound) {
    give("/schemas/ids/17", "order", reference("item"));
    registry.replies["http://one/subjects/item/versions/1"] = {
        .status = 404, .body = R"({"error_code":40402,"message":"Version 1 not found."})"};
    give("/subjects/item/versions/1?deleted=true", "item", "");
    const Resolution found = resolve();
    ASSERT_EQ(found.kind, Kind::found) << found.reason;
    EXPECT_EQ(found.schema->references.at(0).text, "item");
}

TEST_F(SchemaResolution, AReferenceThatCannotBeHadNowFails) {
    give("/schemas/ids/17", "order", reference("item"));
    registry.replies["http://one/subjects/item/versions/1?deleted=true"] = {.status = 503};
    EXPECT_EQ(resolve().kind, Kind::failed);
}

TEST_F(SchemaResolution, TheNextAddressIsAskedAndThenStaysTheFirst) {
    registry.replies["http://one/schemas/ids/17"] = test::unreachable();
    give("/schemas/ids/17", "order", "", "http://two");
    RegistryAddresses addresses({"http://one/", "http://two/"}, registry.get());
    EXPECT_EQ(addresses.resolve({17, ""}, {}).kind, Kind::found);
    EXPECT_EQ(addresses.resolve({17, ""}, {}).kind, Kind::found);
    EXPECT_EQ(registry.asked,
              (std::vector<std::string>{"http://one/schemas/ids/17", "http://two/schemas/ids/17",
                                        "http://two/schemas/ids/17"}));
}

TEST_F(SchemaResolution, AFollowerThatDoesNotKnowTheSchemaYetIsNotBelievedAlone) {
    give("/schemas/ids/17", "order", "", "http://two");
    RegistryAddresses addresses({"http://one", "http://two"}, registry.get());
    EXPECT_EQ(addresses.resolve({17, ""}, {}).kind, Kind::found);
    EXPECT_EQ(addresses.resolve({18, ""}, {}).kind, Kind::unknown);
}

TEST_F(SchemaResolution, ASchemaIsUnknownOnlyIfEachAddressSaysSo) {
    registry.replies["http://two/schemas/ids/17"] = {.status = 503};
    RegistryAddresses addresses({"http://one", "http://two"}, registry.get());
    const Resolution one_is_down = addresses.resolve({17, ""}, {});
    EXPECT_EQ(one_is_down.kind, Kind::failed);
    EXPECT_EQ(one_is_down.reason, "answers 503");
    registry.replies.erase("http://two/schemas/ids/17");
    EXPECT_EQ(addresses.resolve({17, ""}, {}).kind, Kind::unknown);
}

TEST_F(SchemaResolution, ATimeToWaitIsTheRegistrysOnlyIfNoAddressAnswers) {
    registry.replies["http://one/schemas/ids/17"] = {.status = 503, .retry_after = 30s};
    RegistryAddresses addresses({"http://one", "http://two"}, registry.get());
    const Resolution two_answers = addresses.resolve({17, ""}, {});
    EXPECT_EQ(two_answers.kind, Kind::failed);
    EXPECT_EQ(two_answers.retry_after, 30s);
    EXPECT_TRUE(two_answers.another_answers);
    registry.replies["http://two/schemas/ids/17"] = test::unreachable();
    const Resolution none_answers = addresses.resolve({17, ""}, {});
    EXPECT_EQ(none_answers.retry_after, 30s);
    EXPECT_FALSE(none_answers.another_answers);
}

TEST_F(SchemaResolution, AnEndBeforeTheLastAddressIsNoVerdict) {
    std::stop_source end;
    const RegistryGet ask = registry.get();
    RegistryAddresses addresses({"http://one", "http://two"},
                                [&](const std::string& url, const std::stop_token& stop) {
                                    end.request_stop();
                                    return ask(url, stop);
                                });
    EXPECT_EQ(addresses.resolve({17, ""}, end.get_token()).kind, Kind::failed);
}

TEST_F(SchemaResolution, WhereNoAddressAnswersTheFirstOneSaysWhy) {
    registry.replies["http://one/schemas/ids/17"] = {.status = 503};
    registry.replies["http://two/schemas/ids/17"] = test::unreachable();
    RegistryAddresses addresses({"http://one", "http://two"}, registry.get());
    const Resolution found = addresses.resolve({17, ""}, {});
    EXPECT_EQ(found.kind, Kind::failed);
    EXPECT_EQ(found.reason, "answers 503");
}

}  // namespace
}  // namespace onceward

#include "cli/operate/act_body.h"

#include <gmock/gmock.h>

namespace onceward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// `400 detail`; '' if the work is not refused.
template <class Work>
std::string refusal(const std::string& json, Work work) {
    ActBody body(json);
    try {
        work(body);
    } catch (const ActRefused& error) {
        return std::to_string(error.status()) + " " + error.what();
    }
    return "";
}

TEST(ActBody, WhatIsLeftOutOrNullSelectsEverything) {
    for (const char* json : {"{}", R"({"key": null, "classes": null, "numbers": null})"}) {
        ActBody body(json);
        EXPECT_EQ(body.text("key"), "");
        EXPECT_THAT(body.texts("classes"), IsEmpty());
        EXPECT_THAT(body.numbers("numbers"), IsEmpty());
    }
}

TEST(ActBody, AnEmptySelectorIsRefusedAndDoesNotSelectEverything) {
    EXPECT_EQ(refusal(R"({"key": ""})", [](ActBody& body) { body.text("key"); }),
              "400 `key` has to be a text that is not empty, or left out.");
    EXPECT_EQ(refusal(R"({"classes": []})", [](ActBody& body) { body.texts("classes"); }),
              "400 `classes` has to be a list of texts, one at least and none of them empty, or "
              "left out.");
    EXPECT_THAT(refusal(R"({"classes": ["sink", ""]})",
                        [](ActBody& body) { body.texts("classes"); }),
                HasSubstr("none of them empty"));
    EXPECT_EQ(refusal(R"({"numbers": []})", [](ActBody& body) { body.numbers("numbers"); }),
              "400 `numbers` has to be a list of whole numbers, one at least, or left out.");
}

TEST(ActBody, WhatMustBeThereHasToSaySomething) {
    for (const char* json :
         {"{}", R"({"reason": ""})", R"({"reason": null})", R"({"reason": 1})"}) {
        EXPECT_EQ(refusal(json, [](ActBody& body) { body.needed("reason"); }),
                  "400 `reason` has to be a text that is not empty.");
    }
}

TEST(ActBody, ReadsWhatIsGiven) {
    ActBody body(R"({"key": "k", "classes": ["sink"], "numbers": [7, 8]})");
    EXPECT_EQ(body.text("key"), "k");
    EXPECT_THAT(body.texts("classes"), ElementsAre("sink"));
    EXPECT_THAT(body.numbers("numbers"), ElementsAre(7, 8));
    EXPECT_EQ(refusal(body.line(), [&](ActBody&) { body.end(); }), "");
}

}  // namespace
}  // namespace onceward

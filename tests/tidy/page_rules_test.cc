#include "tests/tidy/page_rules.h"

#include <gmock/gmock.h>

namespace onceward::tidy {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(Pages, TheEventsAreThoseOfTheCode) { EXPECT_THAT(event_differences(repository()), IsEmpty()); }
TEST(Pages, AnEventThatIsNotListedAndOneThatIsGoneAreFound) {
    EXPECT_THAT(
        event_differences(
            {{"docs/events.md",
              "## Events\n\n| event | level |\n|---|---|\n| `a.b` | info |\n| `c.d` | info |\n"},
             {"dedup/a.cc",
              "log_info(\"a.b\", {});\nlog_warning(\n    \"new.one\", {});\n"
              "log(LogLevel::info, \"other.one\");\n"}}),
        UnorderedElementsAre("docs/events.md lacks new.one", "docs/events.md lacks other.one",
                             "only docs/events.md has c.d"));
}

TEST(Pages, EachAlertHasARunbookThatItLeadsTo) {
    EXPECT_THAT(runbook_differences(repository()), IsEmpty());
}
TEST(Pages, AnAlertWithoutARunbookOrALinkIsFound) {
    EXPECT_THAT(
        runbook_differences(
            {{"docs/runbooks.md", "# Runbooks\n\n## OneFires\n\ntext\n\n## Gone\n"},
             {"docs/alerts.yaml",
              "- alert: OneFires\n  runbook_url: https://example.org/docs/runbooks.md#onefires\n"
              "- alert: TwoFires\n"}}),
        UnorderedElementsAre("docs/runbooks.md lacks TwoFires", "only docs/runbooks.md has Gone",
                             "the runbook_urls of docs/alerts.yaml lacks twofires"));
}

}  // namespace
}  // namespace onceward::tidy

// `onceward size`: the formulas, and that they use the figures of docs/scale.md.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "cli/size/estimate.h"
#include "cli/size/figures.h"
#include "cli/terminal/quantities.h"

namespace onceward {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

// The page's words, with its line breaks as blanks.
std::string page() {
    std::ifstream stream(std::string(ONCEWARD_SOURCE_FOLDER) + "/docs/scale.md");
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::ranges::replace(text, '\n', ' ');
    return text;
}

TEST(Figures, EachIsInThePageThatMeasuredIt) {
    const std::string text = page();
    for (const figures::Figure& figure : figures::all) {
        EXPECT_THAT(text, HasSubstr(std::string(figure.source)));
        // Seconds are milliseconds there.
        const bool shown =
            figure.source.find(short_number(figure.value)) != std::string_view::npos ||
            figure.source.find(short_number(figure.value * 1000)) != std::string_view::npos;
        EXPECT_TRUE(shown) << figure.source << " does not say " << figure.value;
    }
}

// The example of docs/operations/retention.md: 97 million claims, about 10.5 GB.
TEST(Estimate, ATableHasItsBytesForEachLiveClaim) {
    const Workload workload{.rate = 1000};
    EXPECT_NEAR(claims_of(workload).live, 97.2e6, 1);
    const SizeEstimate made = estimate(StoreKind::table, workload);
    EXPECT_NEAR(made.disk.value, 10.5e9, 0.01e9);
    EXPECT_EQ(made.disk.formula, "97.2 million x 108 bytes");
    EXPECT_EQ(made.memory.value, 0);
    EXPECT_NEAR(made.wal.value, 204'000, 1);
}

// The lines of docs/scale.md for ten thousand million claims: 229 GB, a start of 20 s, and filters
// that do not fit into the memory that there is for them.
TEST(Estimate, ALogHasWhatThePageWorksOut) {
    const Workload workload{.rate = 10e9 / 86400,
                            .retention = hours(24) - std::chrono::seconds(1),
                            .rotate_after = std::chrono::seconds(1)};
    const SizeEstimate made = estimate(StoreKind::log, workload);
    EXPECT_NEAR(made.disk.value, 229e9, 1e9);
    EXPECT_EQ(made.memory.value, 256.0 * 1024 * 1024);
    EXPECT_NEAR(made.claims_memory, 13.1e9, 0.1e9) << "of which the command says that it is more";
    EXPECT_NEAR(made.start.value, 20, 1);
}

TEST(Estimate, ALogHasTheMemoryThatTheConfigurationGivesIt) {
    const Workload workload{.rate = 2000, .memory_claims = std::int64_t{1} << 30};
    const SizeEstimate made = estimate(StoreKind::log, workload);
    EXPECT_EQ(made.memory.value, made.claims_memory);
    EXPECT_GT(made.claims_memory, 256.0 * 1024 * 1024);
    EXPECT_THAT(made.memory.formula, HasSubstr("at most 1.0 GiB"));
}

TEST(Estimate, TheOpenGenerationEndsAtItsClaims) {
    const Workload workload{.rate = 100'000};
    EXPECT_EQ(claims_of(workload).open, 2e6);
    const Workload slow{.rate = 10};
    EXPECT_EQ(claims_of(slow).open, 10.0 * 3 * 3600);
}

TEST(Estimate, FurtherProcessesReadWhatALogAppends) {
    const SizeEstimate one = estimate(StoreKind::log, {.rate = 1e6});
    const SizeEstimate three = estimate(StoreKind::log, {.rate = 1e6, .processes = 3});
    EXPECT_NEAR(three.worker_cores->value - one.worker_cores->value, 0.42, 1e-9);
    EXPECT_EQ(estimate(StoreKind::table, {.rate = 1e6}).worker_cores->value,
              estimate(StoreKind::table, {.rate = 1e6, .processes = 3}).worker_cores->value);
    EXPECT_FALSE(estimate(StoreKind::lease, {.rate = 1}).worker_cores);
}

TEST(Quantities, AreRounded) {
    EXPECT_EQ(bytes_text(90), "90 B");
    EXPECT_EQ(bytes_text(1.5 * 1024 * 1024 * 1024), "1.5 GiB");
    EXPECT_EQ(count_text(97.2e6), "97.2 million");
    EXPECT_EQ(count_text(97.2e9), "97200 million");
    EXPECT_EQ(count_text(640), "640");
    EXPECT_EQ(age_text(std::chrono::seconds(119)), "119 s");
    EXPECT_EQ(age_text(hours(50)), "2 d");
}

}  // namespace
}  // namespace onceward

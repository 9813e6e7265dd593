// A judge that finds nothing must be one that would.

#include "tests/faults/call_judge.h"

#include <gmock/gmock.h>

namespace onceward::faults {
namespace {

using std::chrono::milliseconds;

Moment after(int time) { return Moment(milliseconds(time)); }

const std::string reused_key = "/onceward/problems/key-reused";
const std::string in_doubt = "/onceward/problems/outcome-unknown";

// `hold/a`: its first call was cut off. `once/b`: turned down, then answered. `once/c`: in doubt.
CallEvidence sound_story() {
    CallEvidence good;
    good.routes = {{"release", {.honours_key = true, .held = false}},
                   {"hold", {.honours_key = true}},
                   {"once", {}}};
    good.apart = milliseconds(1000);
    good.sent = {"hold/a", "once/b", "once/c"};
    good.calls = {
        {"hold/a", "A", 1, 201, "1", true, after(1)}, {"hold/a", "A", 1, 201, "1", {}, after(2001)},
        {"once/b", "B", 1, 503, "", {}, after(3)},    {"once/b", "B", 1, 201, "2", {}, after(4)},
        {"once/c", "C", 1, 201, "3", true, after(5)},
    };
    good.answers = {
        {"hold/a", 1, 201, "1", {}, false, after(2000), after(2010)},
        {"hold/a", 1, 201, "1", {}, true, after(2020), after(2030)},
        {"hold/a", 2, 422, "", reused_key, false, after(2020), after(2030)},
        {"once/b", 1, 503, "", {}, false, after(2), after(3)},
        {"once/b", 1, 201, "2", {}, true, after(20), after(30)},
        {"once/c", 1, 409, "", "/onceward/problems/key-in-flight", false, after(6), after(7)},
        {"once/c", 1, 409, "", in_doubt, false, after(2006), after(2007)},
    };
    return good;
}

TEST(JudgeOfCalls, FindsNothingInASoundStory) {
    EXPECT_THAT(judge_calls(sound_story()), ::testing::IsEmpty());
}

TEST(JudgeOfCalls, NamesWhatDoesNotHold) {
    using Change = void (*)(CallEvidence&);
    const std::vector<std::pair<std::string, Change>> changes{
        {"hold/a: its calls carry different keys", [](auto& e) { e.calls[1].downstream = "D"; }},
        {"once/c: its calls carry another one's key", [](auto& e) { e.calls[4].downstream = "B"; }},
        {"once/c: a call without a key", [](auto& e) { e.calls[4].downstream = ""; }},
        {"once/b: a call with a body that was refused", [](auto& e) { e.calls[3].amount = 2; }},
        {"once/b: called again, and nobody knew what became of it",
         [](auto& e) { e.calls[2].status = 201; }},
        {"once/b: called again, and nobody knew what became of it",
         [](auto& e) { e.calls[2].cut_off = true; }},
        {"once/c: called again, and nobody knew what became of it",
         [](auto& e) {
             e.calls.push_back({"once/c", "C", 1, 201, "3", true, after(9000)});
         }},
        {"hold/a: called again before its lease had ended",
         [](auto& e) { e.calls[1].at = after(900); }},
        {"hold/a: called after its answer was stored",
         [](auto& e) { e.calls[1].at = after(2011); }},
        {"hold/a: an answer that no call of it got: 1",
         [](auto& e) { e.calls[1].body = e.calls[0].body = "7"; }},
        {"hold/a: an answer that no call of it got: 1", [](auto& e) { e.calls[1].cut_off = true; }},
        {"hold/a: its answers differ: 1 and 7", [](auto& e) { e.answers[1].body = "7"; }},
        {"hold/a: its answers differ: 1 and 1", [](auto& e) { e.answers[1].status = 200; }},
        {"hold/a: two answers say that they are the first",
         [](auto& e) { e.answers[1].replayed = false; }},
        {"hold/a: another body got the key's answer", [](auto& e) { e.answers[1].amount = 2; }},
        {"hold/a: a conflict with nothing", [](auto& e) { e.answers[2].amount = 1; }},
        {"hold/a: left in doubt, and its upstream honours the key",
         [](auto& e) { e.answers[2].type = in_doubt; }},
        {"once/b: in doubt after its answer was stored",
         [](auto& e) {
             e.answers.push_back({"once/b", 1, 409, "", in_doubt, false, after(40), after(41)});
         }},
        {"once/c: status 400 /onceward/problems/key-malformed",
         [](auto& e) {
             e.answers[5].status = 400;
             e.answers[5].type = "/onceward/problems/key-malformed";
         }},
        {"once/c: undecided", [](auto& e) { e.undecided = {"once/c"}; }},
        {"once/c: nobody sent it", [](auto& e) { e.sent.erase("once/c"); }}};
    for (const auto& [complaint, change] : changes) {
        CallEvidence bad = sound_story();
        change(bad);
        EXPECT_THAT(judge_calls(bad), ::testing::Contains(complaint));
    }
}

}  // namespace
}  // namespace onceward::faults

#include "gateway/requests/keyed_request.h"
#include "tests/support/state_diagram.h"

namespace onceward {
namespace {

TEST(RequestStateTest, TheDiagramOfThePageIsTheTableOfTheCode) {
    support::expect_drawn(request_machine, "A request");
}

TEST(RequestStateTest, AnEventThatMustNeverComeIsRefusedAndLogged) {
    RequestState state = RequestState::decided;
    testing::internal::CaptureStderr();
    change(state, RequestEvent::take);
    const std::string lines = testing::internal::GetCapturedStderr();
    EXPECT_EQ(state, RequestState::decided) << "the state stays";
    EXPECT_THAT(lines, testing::AllOf(testing::HasSubstr("http.wrong_event"),
                                      testing::HasSubstr(R"(state="decided")"),
                                      testing::HasSubstr(R"(event="take")")));
}

TEST(RequestStateTest, AnOutcomeIsFinalAndIsNeverDecidedTwice) {
    RequestState state = RequestState::queued;
    change(state, RequestEvent::take);
    EXPECT_EQ(state, RequestState::running);
    change(state, RequestEvent::decide);
    EXPECT_EQ(state, RequestState::decided);
    for (std::size_t event = 0; event < request_machine.rows.size(); ++event) {
        EXPECT_EQ(request_machine.after(state, static_cast<RequestEvent>(event)), std::nullopt)
            << request_machine.rows[event].event;
    }
}

}  // namespace
}  // namespace onceward

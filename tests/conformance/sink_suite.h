#pragma once
// The contract of dedup/sink/sink.h as tests. A sink joins by a SinkHarness and one
// INSTANTIATE_TEST_SUITE_P. Each harness belongs to one test and one thread.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/conformance/test_messages.h"

namespace onceward::support {

class SinkHarness {
  public:
    virtual ~SinkHarness() = default;
    // A new sink on the harness's own target.
    virtual std::unique_ptr<Sink> make_sink() = 0;
    // The session that the sink works in.
    virtual ConnectionOptions connection() = 0;
    // Adds a message that carries this number; numbers grow with the offsets.
    virtual void add_message(TestMessages& messages, int number) = 0;
    // Adds one that encode() takes and PostgreSQL refuses as bad data (SQLSTATE 22 or 23).
    virtual void add_poison(TestMessages& messages) = 0;
    // The numbers of the messages that took effect, as another session sees them, in the order of
    // their writing.
    virtual std::vector<int> effects() = 0;
};

struct SinkCase {
    std::string name;
    std::function<std::unique_ptr<SinkHarness>()> make_harness;
};

class SinkConformance : public testing::TestWithParam<SinkCase> {
  protected:
    void SetUp() override;
    // Numbers first .. last as encoded messages.
    void add(int first, int last);
    void write_and_commit();

    std::unique_ptr<SinkHarness> harness_;
    std::unique_ptr<Connection> connection_;
    std::unique_ptr<Sink> sink_;
    TestMessages messages_;
    BatchContext context_{"conformance_group", "conformance_topic"};
};

}  // namespace onceward::support

// What the proxy does to a broker's answers, on bytes that are written by hand.
#include "tests/support/kafka_answers.h"

#include <gtest/gtest.h>

#include <vector>

namespace onceward::support {
namespace {

std::string bytes(std::initializer_list<int> values) {
    std::string text;
    for (const int value : values) text += static_cast<char>(value);
    return text;
}

std::string framed(const std::string& body) {
    return bytes({0, 0, 0, static_cast<int>(body.size())}) + body;
}

std::string request(int kind, int version, int id) {
    return framed(bytes({0, kind, 0, version, 0, 0, 0, id}) + "whatever follows");
}

std::string answer(int id, const std::string& body) {
    return framed(bytes({0, 0, 0, id}) + body);
}

AnswerRule always(std::int16_t code) {
    return [code](GroupRequest) { return code; };
}

const std::string waits = bytes({0, 0, 0, 0});
const std::string no_error = bytes({0, 0});
const std::string error_27 = bytes({0, 27});

TEST(KafkaAnswers, AHeartbeatsAnswerGetsTheCode) {
    KafkaAnswers answers;
    answers.requested(request(12, 3, 7));
    EXPECT_EQ(answers.answered(answer(7, waits + no_error), always(27)),
              answer(7, waits + error_27));
}

TEST(KafkaAnswers, OneWithTaggedFieldsGetsItBehindThem) {
    KafkaAnswers answers;
    answers.requested(request(12, 4, 7));
    const std::string tags = bytes({0});
    EXPECT_EQ(answers.answered(answer(7, tags + waits + no_error + tags), always(27)),
              answer(7, tags + waits + error_27 + tags));
}

TEST(KafkaAnswers, EachPartitionOfACommitGetsTheCode) {
    const auto body = [](const std::string& code) {
        const std::string partitions = bytes({0, 0, 0, 2, 0, 0, 0, 0}) + code +
                                       bytes({0, 0, 0, 1}) + code;
        return waits + bytes({0, 0, 0, 1, 0, 2}) + "to" + partitions;
    };
    KafkaAnswers answers;
    answers.requested(request(8, 7, 1));
    EXPECT_EQ(answers.answered(answer(1, body(no_error)), always(27)), answer(1, body(error_27)));
}

TEST(KafkaAnswers, EachPartitionOfACommitWithShortLengthsGetsTheCode) {
    const auto body = [](const std::string& code) {
        const std::string partition = bytes({0, 0, 0, 1}) + code + bytes({0});
        return bytes({0}) + waits + bytes({2, 3}) + "to" + bytes({2}) + partition + bytes({0, 0});
    };
    KafkaAnswers answers;
    answers.requested(request(8, 9, 1));
    EXPECT_EQ(answers.answered(answer(1, body(no_error)), always(27)), answer(1, body(error_27)));
}

TEST(KafkaAnswers, WhateverPiecesComeTheSameGoesOn) {
    const std::string asked = request(1, 12, 1) + request(12, 3, 2) + request(3, 9, 3);
    const std::string fetched(200, 'x');
    const std::string said =
        answer(1, fetched) + answer(2, waits + no_error) + answer(3, "metadata");
    const std::string wanted =
        answer(1, fetched) + answer(2, waits + error_27) + answer(3, "metadata");
    for (std::size_t size = 1; size < said.size(); ++size) {
        KafkaAnswers answers;
        for (std::size_t at = 0; at < asked.size(); at += size)
            answers.requested(std::string_view(asked).substr(at, size));
        std::string on;
        for (std::size_t at = 0; at < said.size(); at += size)
            on += answers.answered(std::string_view(said).substr(at, size), always(27));
        ASSERT_EQ(on, wanted) << "pieces of " << size;
    }
}

TEST(KafkaAnswers, WithoutACodeAnAnswerStaysAsItIs) {
    KafkaAnswers answers;
    answers.requested(request(12, 3, 7));
    const std::string said = answer(7, waits + no_error);
    EXPECT_EQ(answers.answered(said, always(0)), said);
    answers.requested(request(12, 3, 7));
    EXPECT_EQ(answers.answered(said, {}), said);
}

TEST(KafkaAnswers, OneThatIsTooShortStaysAsItIs) {
    KafkaAnswers answers;
    answers.requested(request(8, 7, 1));
    const std::string said = answer(1, waits + bytes({0, 0, 0, 9}));
    EXPECT_EQ(answers.answered(said, always(27)), said);
}

}  // namespace
}  // namespace onceward::support

#pragma once
// The messages of a seed, one after another, with what must become of each. Pure: the same plan
// gives the same messages, whatever becomes of them; only how many partitions there are is told
// from outside. Belongs to one thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/faults/campaign/draws.h"
#include "tests/faults/campaign/plan.h"
#include "tests/support/kafka.h"

namespace onceward::campaign {

// As the checker's produced list names them.
enum class Nature : std::uint8_t { good, undecodable, refused, tombstone, without_key };

struct Drawn {
    std::uint64_t id = 0;
    std::size_t topic = 0;
    Nature nature = Nature::good;
    std::string key;  // empty where it has none
    support::ProducedMessage message;
};

struct Portion {
    std::vector<Drawn> messages;
    bool in_transaction = false;
    bool aborted = false;
};

inline constexpr const char* id_header = "message-id";
inline constexpr const char* key_header = "Idempotency-Key";
inline constexpr std::string_view raw_prefix("\0\xff raw", 6);
inline constexpr std::string_view json_prefix = "{\"id\": ";

class MessageSource {
  public:
    // `partitions`: how many a topic has now.
    MessageSource(const Plan& plan, std::function<int(std::size_t topic)> partitions);
    // Nothing where all have been drawn.
    std::optional<Portion> next();

  private:
    Drawn draw(const std::vector<Drawn>& before, std::size_t size);
    std::string draw_key(const std::vector<Drawn>& before, std::size_t size);
    Nature draw_nature();
    int draw_partition(std::size_t topic, const std::string& key);
    void write(Drawn& drawn);

    const Plan& plan_;
    std::function<int(std::size_t)> partitions_;
    Draws draws_;
    std::uint64_t drawn_ = 0;
    std::uint64_t keys_ = 0;
    // How many keys there were before a topic had more partitions than at first.
    std::vector<std::uint64_t> keys_before_;
};

// The bytes of a payload; `amount` as it shall stand there, which need not be a number.
struct PayloadFields {
    std::uint64_t id = 0;
    std::optional<std::string> key;
    std::string account;
    std::string amount;
};
std::string json_payload(const PayloadFields& fields);
std::string protobuf_payload(const PayloadFields& fields);
// The id in a payload that write() has made.
std::optional<std::uint64_t> payload_id(PayloadFormat format, std::string_view payload);
// What protobuf_payload() writes, as a .proto file; the message is `campaign.Order`.
extern const char* const proto_file;

}  // namespace onceward::campaign

#pragma once
// The parsed schemas of earlier messages. Each message repeats its schema, so one that was seen
// lately costs only a comparison of its bytes. Belongs to one decoder and its thread.

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consumer/decode/connect/connect_schema.h"

namespace onceward {

class ConnectSchemas {
  public:
    // If a topic alternates between more tables than this, each message's schema is parsed. A
    // schema costs a few times the memory of its text.
    static constexpr std::size_t most = 64;
    // The most bytes of texts that are kept, all together: a message may be a megabyte of schema.
    static constexpr std::size_t most_bytes = 16 * 1024 * 1024;

    struct Known {
        std::string text;
        ConnectSchema schema;
        // One for each pointer; nullptr if the value stays as it is.
        std::vector<const ConnectSchema::Node*> nodes;
    };

    // `pointers`: JSON pointers into the messages, as ConnectSchema::find() takes them.
    explicit ConnectSchemas(std::vector<std::string> pointers) : pointers_(std::move(pointers)) {}
    // Valid until the next call. REQUIRES: as ConnectSchema.
    const Known& get(std::string_view text);
    // What follows `{"schema":S,` if S is, byte for byte, a known schema and more members follow;
    // '' for any other document. S is then latest().
    std::string_view after_known(std::string_view document);
    // REQUIRES: after_known() was not ''. Valid until the next call of get().
    std::string_view latest() const { return known_.front().text; }
    // How many texts were parsed, for tests.
    std::size_t parsed() const { return parsed_; }

  private:
    std::vector<std::string> pointers_;
    std::list<Known> known_;  // the one used last comes first
    std::size_t bytes_ = 0;
    std::size_t parsed_ = 0;
};

}  // namespace onceward

#pragma once
// The list of what was produced, one JSON object a line, appended by the runner as the broker
// answers. Short names, as there are many lines:
//   {"id":17,"t":"payments","p":2,"o":1041,"n":"good","kk":"header:Idempotency-Key","k":"key-9",
//    "a":false,"f":"...","r":"account-3","at":1700000000000000}
// id: unique number; t: topic; p, o: partition and offset, left out where the broker did not
// acknowledge it; n: nature (good, undecodable, refused, uncertain, tombstone, without_key),
// default good; kk, k: the key's kind and text; k64 instead of k: base64 of bytes that are no
// UTF-8; a: its transaction was aborted, default false; f: fingerprint; r: the row that an upsert
// writes; at: when the broker's answer was here, microseconds since 1970. A last line that was cut
// short (the runner was killed) is passed over; any other mistake is a std::runtime_error with its
// line.

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "tests/faults/checker/evidence.h"

namespace onceward::checker {

std::string produced_line(const ProducedMessage& message, const std::vector<TopicSettings>& topics);
void read_produced(std::istream& lines, Evidence& evidence);
void load_produced(const std::filesystem::path& file, Evidence& evidence);

// The calls that a webhook's other side has read, in the same form:
//   {"id":17,"k":"0d9c...","w":"worker-1","at":1700000000000000,"s":200}
// id: the message's; k: the key that came with it; w: who called; at: when, microseconds since
// 1970; s: the status of the answer, left out where there was none. Where a request was called on,
// in place of id: q, that one's key, and b, which of its bodies it was.
void read_calls(std::istream& lines, Evidence& evidence);
void load_calls(const std::filesystem::path& file, Evidence& evidence);

// The requests that a client has sent to routes, each time that it sent one, in the same form:
//   {"k":"charges/a-9","b":"1","s":200,"r":true,"a":"{\"effect\": 17}"}
// k: the key; b: which of the key's bodies it was; s: the status of the answer, left out where none
// came; r: the answer says that it is a replayed one, default false; a: the answer's body; u: its
// route leads to an upstream, default false; from, to: when it was on its way. An
// object there may have `type`, of a problem, and `effect`, the number of the row that it tells of.
void read_requests(std::istream& lines, Evidence& evidence);
void load_requests(const std::filesystem::path& file, Evidence& evidence);

// What an operator has done to keys, in the same form:
//   {"do":"forget","t":"topic","k":"key-7","from":1700000000000000,"to":1700000000500000}
// do: forget, import, or import_tried where it may have been done in part.
void read_key_commands(std::istream& lines, Evidence& evidence);
void load_key_commands(const std::filesystem::path& file, Evidence& evidence);

}  // namespace onceward::checker

// Places an order once: place_order <front door> <folder of keys> <order's number> <cents>.
// The order's key is in the folder from before the first request until its fate is known. Where a
// call ends without an answer, or is killed, the same call again goes on under the same key: the
// order is not placed a second time, and the answer that was lost comes after all.
// Exit codes: 0 it is placed, 1 it is refused, 75 its fate is not known: call again.

#include <sysexits.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "clients/cpp/client.h"

using namespace onceward::client;

namespace {

int place(Client& client, const std::string& order, const std::string& cents) {
    try {
        const Answer answer = client.send({.target = "/orders/" + order,
                                           .body = "{\"amount\":" + cents + "}",
                                           .operation = "order-" + order});
        std::cout << "placed order " << order << (answer.replayed ? " (before)" : "") << "\n";
        return EXIT_SUCCESS;
    } catch (const Error& error) {
        std::cerr << error.what() << "\n";
        return error.settled() ? EXIT_FAILURE : EX_TEMPFAIL;
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 5) {
        std::cerr << "place_order <front door> <folder of keys> <order's number> <cents>\n";
        return EX_USAGE;
    }
    try {
        FileStore store(arguments[2]);
        Client client(arguments[1], {.store = &store});
        return place(client, std::to_string(std::stoull(arguments[3])),
                     std::to_string(std::stoull(arguments[4])));
    } catch (const std::exception& error) {  // nothing was sent
        std::cerr << error.what() << "\n";
        return EX_USAGE;
    }
}

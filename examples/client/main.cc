// Places an order once: place_order <front door> <folder of keys> <order's number> <cents>.
// The order's key is in the folder from before the first request until its fate is known. Where a
// call ends without an answer, or is killed, the same call continues with the same key: the
// order is not placed a second time, and the answer that was lost comes after all.
// Exit codes: 0 it is placed, 1 it is refused, 75 its fate is not known: call again.

#include <sysexits.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "clients/cpp/client.h"

using namespace onceward::client;

namespace {

// A redirect says nothing of a call before it whose answer got lost: the key is still there then.
bool is_open(Store& store, const std::string& operation) {
    return std::ranges::any_of(store.entries(),
                               [&](const Entry& entry) { return entry.operation == operation; });
}

int place(Client& client, Store& store, const std::string& order, const std::string& cents) {
    const std::string operation = "order-" + order;
    try {
        const Answer answer = client.send({.target = "/orders/" + order,
                                           .body = "{\"amount\":" + cents + "}",
                                           .operation = operation});
        if (answer.status >= 300) {  // a redirect, which the client does not follow
            std::cerr << "order " << order << " is answered with " << answer.status << "\n";
            return is_open(store, operation) ? EX_TEMPFAIL : EXIT_FAILURE;
        }
        std::cout << "placed order " << order << (answer.replayed ? " (before)" : "") << "\n";
        return EXIT_SUCCESS;
    } catch (const Error& error) {
        std::cerr << error.what() << "\n";
        return error.settled() ? EXIT_FAILURE : EX_TEMPFAIL;
    } catch (const StoreFailed& error) {  // nobody can tell whether there was a call before
        std::cerr << error.what() << "\n";
        return EX_TEMPFAIL;
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
        return place(client, store, std::to_string(std::stoull(arguments[3])),
                     std::to_string(std::stoull(arguments[4])));
    } catch (const std::exception& error) {  // nothing was sent
        std::cerr << error.what() << "\n";
        return EX_USAGE;
    }
}

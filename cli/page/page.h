#pragma once
// The admin port's web page: its files, and what they ask for under /api/. Files are answered in
// the server's thread, from memory. Questions go to a thread of the page's own, with sessions of
// its own and a bounded queue, so that neither verdicts nor workers wait for them; one read answers
// all who asked the same within a second. handle() is thread-safe; it throws nothing.

#include <memory>

#include "cli/configuration/current.h"
#include "cli/page/page_reads.h"
#include "gateway/http/server.h"

namespace onceward {

class AdminPage {
  public:
    // Whether the configuration has one, and the build has its files.
    static bool wanted(const Configuration& configuration);

    // The configuration outlives it; after a reload the page shows the new one. `status` is called
    // in the page's thread.
    AdminPage(const CurrentConfiguration& current, PageReads::Status status);
    ~AdminPage();
    // Ends the page's thread; later questions get 503. Call it before the server ends, which the
    // answers belong to.
    void stop();

    // False if the path does not belong to the page. REQUIRES: the method is GET or HEAD.
    bool handle(const HttpRequest& request, const HttpServer::Answer& answer);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward

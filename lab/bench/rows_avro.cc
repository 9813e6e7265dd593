// The row of Avro by a schema registry: 18.

#include "cli/composition/registries.h"
#include "gateway/http/server.h"
#include "lab/bench/bench.h"

namespace onceward::bench {
namespace {

// A registry in a thread of this process, which has one schema. It is asked once in a run.
class SchemaServer {
  public:
    SchemaServer()
        : server_(options(), [](HttpRequest, const HttpServer::Answer& answer) {
              answer({.status = 200, .headers = {}, .body = avro_schema_answer()});
          }) {
        server_.start();
    }
    // A cache that knows nothing yet.
    std::shared_ptr<SchemaCache> cache() const {
        RegistryConfiguration registry;
        registry.name = "bench";
        registry.urls = {"http://127.0.0.1:" + std::to_string(server_.port())};
        Configuration configuration;
        configuration.registries = {registry};
        return make_registries(configuration).at(registry.name);
    }

  private:
    static ServerOptions options() {
        ServerOptions options;
        options.port = 0;
        return options;
    }
    HttpServer server_;
};

}  // namespace

RowResult Bench::avro() {
    const SchemaServer registry;
    const auto topic = filled(extent_.messages, false, Form::avro);
    Plan by_schema = plan(Claims::log);
    by_schema.schemas = registry.cache();
    std::vector<Side> sides{consumed(*topic, by_schema), consumed(plain(), plan(Claims::log))};
    sides[0].name += ", Avro";
    sides[1].name += ", JSON";
    const auto runs = in_turn(sides);
    RowResult result =
        begin("18", consumed_setting() +
                        ", no duplicates, one worker; against the same fields as Avro, the time as "
                        "`timestamp-micros`, in a frame that names their schema");
    result.outcomes.push_back({targets_of("18").front(), ratio(rates(runs[0]), rates(runs[1]))});
    result.lines = {line(sides[0].name, runs[0]), line(sides[1].name, runs[1])};
    return result;
}

}  // namespace onceward::bench

// The program `onceward`.

#include "cli/commands/commands.h"
#include "cli/program.h"

int main(int argument_count, char** arguments) {
    return onceward::run_program(
        {.name = "onceward",
         .description =
             "Consumes Kafka topics into PostgreSQL; each idempotency key takes effect once.",
         .version = ONCEWARD_VERSION},
        onceward::add_all_commands, argument_count, arguments);
}

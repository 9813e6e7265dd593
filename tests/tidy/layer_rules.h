#pragma once
// Which folder may know which. Pure functions of the tree.

#include "tests/tidy/tree.h"

namespace onceward::tidy {

// cli -> consumer, sinks, gateway -> dedup -> schemas, and nothing of the tests.
Findings backward_includes(const Tree& tree);
// The same for the libraries that a folder's CMakeLists.txt names.
Findings backward_links(const Tree& tree);
// librdkafka's headers belong to consumer/; tests/support and the checker have some of their
// own.
Findings kafka_headers_elsewhere(const Tree& tree);
// The checker judges the product: it includes and links nothing of it, nor of what links it.
Findings checker_dependencies(const Tree& tree);
// A class that derives from Sink is named in its own folder and in the composition root,
// cli/composition/composition.cc, alone.
Findings sinks_named_elsewhere(const Tree& tree);
// Release builds compile several files of a library as one: in a file that is compiled after it, a
// type of an anonymous namespace hides the product's own of that name, and nothing says so.
Findings types_hidden(const Tree& tree);
// A class of the product whose methods are in more than three .cc files: it is several classes.
Findings classes_spread(const Tree& tree);

}  // namespace onceward::tidy

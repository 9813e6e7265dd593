/** Batches of Kafka, whose records take effect once for each key. */
package io.github.onceward.inbox.kafka;

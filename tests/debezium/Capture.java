// Debezium's embedded engine with its default settings: each record that it makes of a database
// goes to a file, as a line of JSON, and to Kafka. Ends with the first record of the table `done`.
//
//   Capture PORT DATABASE FOLDER RECORDS [BOOTSTRAP_SERVERS [PROPERTY=VALUE ...]]
//
// FOLDER keeps the engine's offsets. RECORDS is appended to; `-` is no file.

import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Capture implements DebeziumEngine.ChangeConsumer<ChangeEvent<String, String>> {
    private final PrintStream file;
    private final KafkaProducer<String, String> producer;
    private final Admin admin;
    private final Set<String> topics = new HashSet<>();
    private final CountDownLatch done = new CountDownLatch(1);

    private Capture(PrintStream file, String servers) {
        this.file = file;
        if (servers == null) {
            producer = null;
            admin = null;
            return;
        }
        final Map<String, Object> broker = Map.of("bootstrap.servers", servers);
        producer = new KafkaProducer<>(broker, new StringSerializer(), new StringSerializer());
        admin = Admin.create(broker);
    }

    // Both texts are JSON already.
    private void write(ChangeEvent<String, String> event) {
        if (file == null) return;
        file.println("{\"topic\":\"" + event.destination() + "\",\"key\":" + event.key()
                + ",\"value\":" + event.value() + "}");
    }

    private void send(ChangeEvent<String, String> event) throws InterruptedException {
        if (producer == null) return;
        if (topics.add(event.destination())) {
            try {
                admin.createTopics(List.of(new NewTopic(event.destination(), 1, (short) 1)))
                        .all().get();
            } catch (java.util.concurrent.ExecutionException there) {
                System.err.println("topic " + event.destination() + " is there already");
            }
        }
        producer.send(new ProducerRecord<>(event.destination(), event.key(), event.value()));
    }

    @Override
    public void handleBatch(List<ChangeEvent<String, String>> events,
            DebeziumEngine.RecordCommitter<ChangeEvent<String, String>> committer)
            throws InterruptedException {
        for (final ChangeEvent<String, String> event : events) {
            if (event.destination().endsWith(".done")) {
                done.countDown();
            } else {
                write(event);
                send(event);
            }
        }
        if (producer != null) producer.flush();
        for (final ChangeEvent<String, String> event : events) committer.markProcessed(event);
        committer.markBatchFinished();
    }

    @Override
    public boolean supportsTombstoneEvents() {
        return true;
    }

    public static void main(String[] arguments) throws Exception {
        final Properties settings = new Properties();
        settings.setProperty("name", "shop");
        settings.setProperty("connector.class",
                "io.debezium.connector.postgresql.PostgresConnector");
        settings.setProperty("offset.storage",
                "org.apache.kafka.connect.storage.FileOffsetBackingStore");
        settings.setProperty("offset.storage.file.filename", arguments[2] + "/offsets");
        settings.setProperty("database.hostname", "127.0.0.1");
        settings.setProperty("database.port", arguments[0]);
        settings.setProperty("database.user", "tester");
        settings.setProperty("database.password", "");
        settings.setProperty("database.dbname", arguments[1]);
        settings.setProperty("topic.prefix", "shop");
        settings.setProperty("plugin.name", "pgoutput");
        settings.setProperty("converter.schemas.enable", "true");
        for (int i = 5; i < arguments.length; ++i) {
            final String[] property = arguments[i].split("=", 2);
            settings.setProperty(property[0], property[1]);
        }
        final PrintStream file = arguments[3].equals("-") ? null
                : new PrintStream(Files.newOutputStream(Path.of(arguments[3]),
                        StandardOpenOption.CREATE, StandardOpenOption.APPEND), true,
                        StandardCharsets.UTF_8);
        final Capture capture = new Capture(file, arguments.length > 4 ? arguments[4] : null);
        final DebeziumEngine<ChangeEvent<String, String>> engine =
                DebeziumEngine.create(Json.class).using(settings).notifying(capture)
                        .using((success, message, error) -> {
                            System.err.println("engine: " + message);
                            if (error != null) error.printStackTrace();
                            capture.done.countDown();
                        }).build();
        final Thread thread = new Thread(engine);
        thread.start();
        capture.done.await();
        engine.close();
        thread.join();
    }
}

import io.github.onceward.inbox.Inbox;
import io.github.onceward.inbox.JsonCodec;
import io.github.onceward.inbox.Key;
import io.github.onceward.inbox.Once;
import io.github.onceward.inbox.OnceOptions;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.postgresql.ds.PGSimpleDataSource;

/** As once.cc, with the inbox's Java package: URL LEDGER OPERATION KIND TABLE. */
public class Calls {
    record Effect(long value) {}

    public static void main(String[] arguments) throws Exception {
        PGSimpleDataSource source = new PGSimpleDataSource();
        source.setUrl(arguments[0]);
        Inbox inbox = Inbox.of(arguments[2]).kind(arguments[3]).ledger(arguments[1]);
        String insert = "INSERT INTO " + arguments[4] + " VALUES (?, ?)";
        OnceOptions<Effect> options = OnceOptions.of(JsonCodec.of(Effect.class));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            long value = Long.parseLong(words[1]);
            Effect stored = Once.inside(source, inbox, Key.of(words[0]), options, tx -> {
                try (var statement = tx.prepareStatement(insert)) {
                    statement.setLong(1, Long.parseLong(words[0]));
                    statement.setLong(2, value);
                    statement.executeUpdate();
                }
                return new Effect(value);
            });
            // No two calls have the same value.
            System.out.println((stored.value() == value ? "fresh " : "duplicate ")
                + stored.value());
        }
    }
}

import io.github.onceward.inbox.Inbox;
import io.github.onceward.inbox.InboxException;
import io.github.onceward.inbox.JsonCodec;
import io.github.onceward.inbox.Key;
import io.github.onceward.inbox.Once;
import io.github.onceward.inbox.OnceOptions;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.UUID;
import javax.sql.DataSource;
import org.postgresql.ds.PGSimpleDataSource;

/** A payment that takes effect once for each order. */
public class Pay {
    record Receipt(long payment, long amount) {}

    static final Inbox PAYMENTS = Inbox.of("pay").kind("order").ledger("payments");
    static final OnceOptions<Receipt> OPTIONS = OnceOptions.of(JsonCodec.of(Receipt.class));

    static Receipt pay(DataSource source, String order, long amount) throws SQLException {
        Key key = Key.of(order).fingerprint("amount " + amount);
        return Once.inside(source, PAYMENTS, key, OPTIONS, tx -> {
            try (var insert = tx.prepareStatement(
                    "INSERT INTO java_payments (amount) VALUES (?) RETURNING payment")) {
                insert.setLong(1, amount);
                var rows = insert.executeQuery();
                rows.next();
                return new Receipt(rows.getLong(1), amount);
            }
        });
    }

    public static void main(String[] arguments) throws SQLException {
        PGSimpleDataSource source = new PGSimpleDataSource();
        source.setUrl(arguments[0]);
        try (var connection = source.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("SELECT onceward.register_ledger('payments')");
            statement.execute("CREATE TABLE IF NOT EXISTS java_payments "
                + "(payment bigserial PRIMARY KEY, amount bigint NOT NULL)");
        }
        String order = "order-" + UUID.randomUUID();
        Receipt first = pay(source, order, 1999);
        Receipt again = pay(source, order, 1999);
        System.out.println(again.equals(first) ? "one payment" : "two payments");
        try {
            pay(source, order, 5);
        } catch (InboxException.Conflict conflict) {
            System.out.println("refused: " + conflict.getMessage());
        }
    }
}

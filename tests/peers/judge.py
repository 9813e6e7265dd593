"""What became of each key, by SQL over the sink's table and over a list of its changes.

Shares no code with any of the consumers. A trigger notes each INSERT and UPDATE of the sink's
table, in the transaction that makes it. So an upsert that happened twice counts as twice, as it
does for triggers, for change data capture and for `amount = amount + ...`.
"""

from dataclasses import dataclass

TABLES = '''
CREATE TABLE {run} (event_id uuid NOT NULL, account text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor >= 0), currency text NOT NULL,
    created_at timestamptz NOT NULL{primary_key});
CREATE TABLE {run}_claims (event_id uuid NOT NULL PRIMARY KEY);
CREATE TABLE {run}_changes (event_id uuid NOT NULL);
CREATE TABLE {run}_produced (event_id uuid NOT NULL, refused boolean NOT NULL);
CREATE FUNCTION {run}_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO {run}_changes VALUES (NEW.event_id);
    RETURN NULL;
END
$$;
CREATE TRIGGER note AFTER INSERT OR UPDATE ON {run} FOR EACH ROW EXECUTE FUNCTION {run}_note();
'''

VERDICT = '''
WITH wanted AS (SELECT event_id, count(*) AS sent FROM {run}_produced WHERE NOT refused GROUP BY 1),
    happened AS (SELECT event_id, count(*) AS times FROM {run}_changes GROUP BY 1)
SELECT (SELECT count(*) FROM wanted),
    (SELECT count(*) FROM wanted WHERE event_id NOT IN (SELECT event_id FROM happened)),
    (SELECT coalesce(sum(times - 1), 0) FROM happened JOIN wanted USING (event_id) WHERE sent = 1),
    (SELECT coalesce(sum(times - 1), 0) FROM happened JOIN wanted USING (event_id) WHERE sent > 1),
    (SELECT count(*) FROM happened WHERE event_id NOT IN (SELECT event_id FROM wanted))
'''


@dataclass
class Verdict:
    keys: int
    missing: int
    twice: int            # keys that were produced once: effects beyond the first
    twice_of_repeats: int  # the same for keys that the producer sent twice
    unknown: int          # effects of keys that nobody produced


def prepare(postgres, run, primary_key):
    postgres.query(TABLES.format(run=run,
                                 primary_key=', PRIMARY KEY (event_id)' if primary_key else ''))


def note_produced(postgres, run, lines):
    """`lines`: (key, refused) for each message that was sent, repeats included."""
    data = ''.join(f'{key}\t{"t" if refused else "f"}\n' for key, refused in lines)
    postgres.query(f'COPY {run}_produced FROM STDIN', data)


def judge(postgres, run):
    return Verdict(*map(int, postgres.query(VERDICT.format(run=run))[0]))


def changes(postgres, run):
    return int(postgres.query(f'SELECT count(*) FROM {run}_changes')[0][0])

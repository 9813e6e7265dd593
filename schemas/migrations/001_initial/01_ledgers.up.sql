-- A ledger is a set of claims with one retention, one store and one reach. Its claims are in
-- generations: tables that are made, sealed and dropped as a whole.

CREATE TABLE {schema}.ledgers (
    ledger integer GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL,
    store text NOT NULL,
    reach text NOT NULL,
    retention interval NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    log_floor bigint NOT NULL DEFAULT 0,
    evictions bigint NOT NULL DEFAULT 0,
    stores_results boolean NOT NULL DEFAULT false,
    erasures bigint NOT NULL DEFAULT 0,
    memory_begins timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT ledgers_key PRIMARY KEY (ledger),
    CONSTRAINT ledgers_name_unique UNIQUE (name),
    CONSTRAINT ledgers_store_known CHECK (store IN ('table', 'log', 'lease')),
    CONSTRAINT ledgers_reach_known CHECK (reach IN ('global', 'partition'))
);
COMMENT ON COLUMN {schema}.ledgers.log_floor IS
    'What the log held up to this `seq` may be gone. Moves under the exclusive lock only.';
COMMENT ON COLUMN {schema}.ledgers.memory_begins IS
    'A key that was minted before this time cannot be judged: its claim may have been dropped. '
    'Moves under the exclusive lock only.';
COMMENT ON COLUMN {schema}.ledgers.evictions IS
    'How often a claim was taken out by hand. Grows under the exclusive lock only.';
COMMENT ON COLUMN {schema}.ledgers.erasures IS
    'How often results were erased by tenant. A process that holds some in memory reads it first.';

-- The topics that feed a ledger. The list of a topic's partitions is a sample as well (its time,
-- then the metadata). What has no log (calls of once(), HTTP) feeds its ledger as one row, whose
-- watermark is the clock less the longest request.
CREATE TABLE {schema}.ledger_feeds (
    ledger integer NOT NULL,
    consumer_group text NOT NULL,
    topic text NOT NULL,
    source integer GENERATED ALWAYS AS IDENTITY,
    partitions integer,
    watermark timestamptz,
    retired_at timestamptz,
    log_partitions integer,
    longest_request interval,
    CONSTRAINT ledger_feeds_key PRIMARY KEY (ledger, consumer_group, topic),
    CONSTRAINT ledger_feeds_source_unique UNIQUE (source),
    CONSTRAINT ledger_feeds_ledger FOREIGN KEY (ledger) REFERENCES {schema}.ledgers (ledger)
);
COMMENT ON COLUMN {schema}.ledger_feeds.source IS
    'The short name of (group, topic) in the claims'' rows.';
COMMENT ON COLUMN {schema}.ledger_feeds.watermark IS
    'When the list of partitions was last known; one more watermark that holds retention back.';
COMMENT ON COLUMN {schema}.ledger_feeds.retired_at IS
    'Set by `onceward groups retire`: the topic feeds the ledger no longer.';
COMMENT ON COLUMN {schema}.ledger_feeds.log_partitions IS
    'With `reach: partition`: how many partitions the topic had when the ledger was made. With '
    'another number a key may be in another partition than before.';
COMMENT ON COLUMN {schema}.ledger_feeds.longest_request IS
    'Set for a feed without a log: no request takes longer. The watermark is the clock less this.';

-- Exactly one generation of a ledger is current; sealed ones are immutable.
CREATE TABLE {schema}.generations (
    ledger integer NOT NULL,
    generation bigint NOT NULL,
    created_at timestamptz NOT NULL,
    sealed_at timestamptz,
    CONSTRAINT generations_key PRIMARY KEY (ledger, generation),
    CONSTRAINT generations_ledger FOREIGN KEY (ledger) REFERENCES {schema}.ledgers (ledger),
    CONSTRAINT generations_sealed_later CHECK (sealed_at >= created_at)
);
CREATE UNIQUE INDEX generations_one_current ON {schema}.generations (ledger)
    WHERE sealed_at IS NULL;

-- With `store: table` a generation is a table that is made LIKE this one, with the same grants.
CREATE TABLE {schema}.claims (
    digest uuid NOT NULL,
    fingerprint uuid,
    record_offset bigint NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    partition integer NOT NULL,
    source integer NOT NULL,
    CONSTRAINT claims_never_here CHECK (false) NO INHERIT
);
COMMENT ON TABLE {schema}.claims IS
    'The pattern and the grants of the tables claims_<ledger>_<generation>; always empty itself.';

-- With `store: log` claims are appended, one row a batch, and no index holds the keys. A generation
-- is a table claims_<ledger>_<generation> as with the other store, so that what seals, unlists,
-- drops and grants is the same. It is made LIKE this one, with the grants of `claims`.
CREATE TABLE {schema}.claim_batches (
    seq bigint NOT NULL,
    source integer NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    partitions integer[] NOT NULL,
    first_offsets bigint[] NOT NULL,
    last_offsets bigint[] NOT NULL,
    digests bytea NOT NULL,
    fingerprints bytea,
    CONSTRAINT claim_batches_never_here CHECK (false) NO INHERIT
);
-- Random bytes do not compress; trying costs as much as the insert.
ALTER TABLE {schema}.claim_batches ALTER COLUMN digests SET STORAGE EXTERNAL,
    ALTER COLUMN fingerprints SET STORAGE EXTERNAL;
COMMENT ON TABLE {schema}.claim_batches IS
    'The pattern of the tables claims_<ledger>_<generation> of logs; always empty itself.';
COMMENT ON COLUMN {schema}.claim_batches.digests IS
    'The batch''s digests, 16 bytes each, sorted; `fingerprints` in this order, zeros for none.';
COMMENT ON COLUMN {schema}.claim_batches.partitions IS
    'Where the batch''s claims came from, with the offsets of the first and the last of each.';

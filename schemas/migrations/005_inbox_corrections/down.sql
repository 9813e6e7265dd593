DROP FUNCTION {schema}.write_inbox_entries(), {schema}.write_inbox(integer),
    {schema}.require_read_committed(text);
ALTER FUNCTION {schema}.write_inbox_entry_texts() RENAME TO write_inbox_entries;
ALTER FUNCTION {schema}.write_inbox_texts(integer) RENAME TO write_inbox;

-- Continues where an earlier run ended, or starts again if that had finished or $4 says so.
INSERT INTO {schema}.imports AS import (ledger, origin, description)
VALUES ($1::integer, $2::uuid, $3)
ON CONFLICT (ledger, origin) DO UPDATE SET
    position = CASE WHEN import.finished_at IS NOT NULL OR $4::boolean THEN ''
        ELSE import.position END,
    claimed = CASE WHEN import.finished_at IS NOT NULL OR $4 THEN 0 ELSE import.claimed END,
    known = CASE WHEN import.finished_at IS NOT NULL OR $4 THEN 0 ELSE import.known END,
    refused = CASE WHEN import.finished_at IS NOT NULL OR $4 THEN 0 ELSE import.refused END,
    moved_at = now(), finished_at = NULL
RETURNING import, position, claimed, known, refused

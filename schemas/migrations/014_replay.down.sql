-- The fences of replays that have not finished go with them.
DELETE FROM {schema}.fences f USING {schema}.replays r
    WHERE f.consumer_group = r.consumer_group || ' replay ' || r.replay;
DROP FUNCTION {schema}.finish_replay(bigint);
DROP TABLE {schema}.replays;

-- The load of scripts/bench-http and scripts/bench-door, for wrk. Each request is a POST of JSON
-- under a key of its own; scripts/bench-routes uses it too. From the environment:
--
--   BENCH_RUN             what no other run has: the keys begin with it
--   BENCH_BODY            the body
--   BENCH_KEY             one key for all of them; empty: a key for each
--   BENCH_PATHS           the requests go in turn to so many paths, the URL's with /1, /2 ...;
--                         empty: to the URL's own
--   BENCH_PAUSE_MS        between two requests of a connection, about; empty: none
--   BENCH_REFUSED, REFUSED_BODY
--                         how many of a hundred requests have that other body
--
-- Ends with one line: "figures", requests a second, the 50th and the 99th percentile in ms, how
-- many requests failed or got no 2xx or 3xx, how many there were.
local function setting(name, otherwise)
    local value = os.getenv(name)
    return value ~= nil and value ~= "" and value or otherwise
end
local run = setting("BENCH_RUN") or error("BENCH_RUN is not set")
local body = setting("BENCH_BODY", "{}")
local one_key = setting("BENCH_KEY")
local paths = tonumber(setting("BENCH_PATHS", "0"))
local pause = tonumber(setting("BENCH_PAUSE_MS", "0"))
local refused = tonumber(setting("BENCH_REFUSED", "0"))
local refused_body = setting("REFUSED_BODY")

local threads = 0
function setup(thread)
    threads = threads + 1
    thread:set("number", threads)
end
function init()
    sent = 0
end
function request()
    sent = sent + 1
    local other = refused > 0 and math.random(100) <= refused
    local path = paths > 0 and wrk.path .. "/" .. (sent % paths + 1) or nil
    return wrk.format("POST", path,
        {["Idempotency-Key"] = one_key or string.format("%s-%d-%d", run, number, sent),
            ["Content-Type"] = "application/json"}, other and refused_body or body)
end
-- wrk asks for each pause in Lua, so only where there is one. Jittered, so that the connections do
-- not march in step.
if pause > 0 then
    function delay()
        return math.random(pause / 2, pause * 3 / 2)
    end
end
function done(summary, latency)
    local errors = summary.errors
    print(string.format("figures %.1f %.3f %.3f %d %d", summary.requests / (summary.duration / 1e6),
        latency:percentile(50) / 1000, latency:percentile(99) / 1000,
        errors.status + errors.connect + errors.read + errors.write + errors.timeout,
        summary.requests))
end

"""Writes samples.json: Avro payloads by fastavro, and what fastavro and Apache's avro read in them.

avro_decoder_test.cc compares what Onceward reads. Run it again after a change:
    python3 -m venv build/avro-env
    build/avro-env/bin/pip install fastavro==1.13.1 avro==1.12.2
    build/avro-env/bin/python tests/unit/consumer/decode/avro/make_samples.py
"""
import datetime as dt
import decimal
import io
import json
import math
import pathlib
import struct
import uuid

import avro.io
import avro.schema
import fastavro

D = decimal.Decimal
decimal.getcontext().prec = 200
UTC = dt.timezone.utc
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
CASES = []


def moment(value):
    return value.isoformat(timespec="microseconds").replace("+00:00", "Z")


def shown(value):
    """A value as [kind, text], in Onceward's words."""
    if value is None:
        return ["null", ""]
    if isinstance(value, bool):
        return ["boolean", "true" if value else "false"]
    if isinstance(value, int):
        return ["integer", str(value)]
    if isinstance(value, float):
        bits = "nan" if math.isnan(value) else struct.pack(">d", value).hex()
        return ["real", bits]
    if isinstance(value, D):
        return ["number", format(value, "f")]
    if isinstance(value, dt.datetime):
        if value.tzinfo:
            return ["timestamp", str((value - EPOCH) // dt.timedelta(microseconds=1))]
        return ["text", moment(value)]
    if isinstance(value, dt.date):
        return ["text", value.isoformat()]
    if isinstance(value, dt.time):
        return ["text", value.isoformat(timespec="microseconds")]
    if isinstance(value, uuid.UUID):
        return ["text", str(value)]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, str):
        return ["text", value]
    return ["json", json_text(value)]


def json_text(value):
    import base64

    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, bytes):
        return json.dumps(base64.b64encode(value).decode())
    if isinstance(value, float) and not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    if isinstance(value, D):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return json.dumps(moment(value))
    if value is None or isinstance(value, (bool, int, float)):
        return json.dumps(value)
    return json.dumps(shown(value)[1], ensure_ascii=False)


def case(name, schema, value, path="", expected=None):
    """`expected`: what the readers do not know themselves (nanoseconds, durations)."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    payload = out.getvalue()
    read = fastavro.schemaless_reader(io.BytesIO(payload), fastavro.parse_schema(schema), None)
    parsed = avro.schema.parse(json.dumps(schema))
    decoder = avro.io.BinaryDecoder(io.BytesIO(payload))
    official = avro.io.DatumReader(parsed, parsed).read(decoder)
    for step in [step for step in path.split("/") if step]:
        read = read[int(step)] if isinstance(read, list) else read[step]
        official = official[int(step)] if isinstance(official, list) else official[step]
    if expected is None:
        expected = shown(read)
        # Apache's reader gives a local timestamp as a number, and a uuid in a string as a text.
        if json_or(official) != json_or(read) and "local" not in name:
            raise SystemExit(f"{name}: fastavro {read!r}, avro {official!r}")
    CASES.append({"name": name, "schema": json.dumps(schema), "hex": payload.hex(), "path": path,
                  "kind": expected[0], "text": expected[1]})


def json_or(value):
    return ["same"] if isinstance(value, float) and math.isnan(value) else shown(value)


def logical(base, name, **more):
    return {"type": base, "logicalType": name, **more}


def fixed(size, **more):
    return {"type": "fixed", "name": "F", "size": size, **more}


def record(**fields):
    return {"type": "record", "name": "R",
            "fields": [{"name": n, "type": t} for n, t in fields.items()]}


case("null", ["null", "int"], None)
for yes in (True, False):
    case("boolean", "boolean", yes)
for number in (0, 1, -1, 63, 64, -64, -65, 2**31 - 1, -(2**31)):
    case("int", "int", number)
for number in (0, 2**53 + 1, 2**63 - 1, -(2**63)):
    case("long", "long", number)
for real in (0.0, -0.0, 0.1, 1e308, 5e-324, math.inf, -math.inf, math.nan):
    case("double", "double", real)
for real in (0.1, 3.4028234e38, math.inf, math.nan):
    case("float", "float", real)
for text in ("", "Grüße \U0001f600", 'a"\\\n\0'):
    case("string", "string", text)
case("bytes", "bytes", bytes(range(256)))
case("fixed", fixed(4), b"\0\xff\x80a")
case("enum", {"type": "enum", "name": "E", "symbols": ["A", "B", "C"], "default": "A"}, "C")
case("union, second branch", ["null", "string", "long"], "x")
case("union, third branch", ["null", "string", "long"], -5)
for digits in ("0.00", "12.30", "-0.05", "-1.28", "1.27", "1.28", "-12345678.90", "99999999999.99"):
    case("decimal in bytes", logical("bytes", "decimal", precision=40, scale=2), D(digits))
    case("decimal in fixed", fixed(17, logicalType="decimal", precision=40, scale=2), D(digits))
for digits in ("9" * 90, "-" + "9" * 90, str(2**64), str(-(2**64)), str(-(2**32)), "1" + "0" * 27):
    case("decimal of many digits", logical("bytes", "decimal", precision=100, scale=0), D(digits))
    scaled = D(digits).scaleb(-50)
    case("decimal of many places", logical("bytes", "decimal", precision=100, scale=50), scaled)
for day in (dt.date(1970, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2024, 2, 29)):
    case("date", logical("int", "date"), day)
case("time-millis", logical("int", "time-millis"), dt.time(23, 59, 59, 999000))
case("time-micros", logical("long", "time-micros"), dt.time(0, 0, 0, 1))
for at in (dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999000),
           dt.datetime(2024, 5, 6, 7, 8, 9, 123000), dt.datetime(1, 1, 1)):
    at = at.replace(tzinfo=UTC)
    case("timestamp-millis", logical("long", "timestamp-millis"), at)
    case("timestamp-micros", logical("long", "timestamp-micros"),
         at + dt.timedelta(microseconds=456))
    local = at.replace(tzinfo=None)
    case("local-timestamp-millis", logical("long", "local-timestamp-millis"), local)
    case("local-timestamp-micros", logical("long", "local-timestamp-micros"),
         local + dt.timedelta(microseconds=456))
case("uuid", logical("string", "uuid"), uuid.UUID("2f3e0c1a-9a40-4c6e-8f0e-1d2c3b4a5968"))
case("uuid in fixed", fixed(16, logicalType="uuid"),
     uuid.UUID("2f3e0c1a-9a40-4c6e-8f0e-1d2c3b4a5968").bytes,
     expected=["text", "2f3e0c1a-9a40-4c6e-8f0e-1d2c3b4a5968"])
NANOS = 1_714_979_289_123_456_789
case("timestamp-nanos", logical("long", "timestamp-nanos"), NANOS,
     expected=["timestamp", f"{NANOS // 1000} 2024-05-06T07:08:09.123456789Z"])
case("timestamp-nanos", logical("long", "timestamp-nanos"), -1,
     expected=["timestamp", "-1 1969-12-31T23:59:59.999999999Z"])
case("timestamp-nanos", logical("long", "timestamp-nanos"), -(2**63),
     expected=["timestamp", f"{-(2**63) // 1000} 1677-09-21T00:12:43.145224192Z"])
case("timestamp-nanos", logical("long", "timestamp-nanos"), 5000, expected=["timestamp", "5"])
case("local-timestamp-nanos", logical("long", "local-timestamp-nanos"), NANOS,
     expected=["text", "2024-05-06T07:08:09.123456789"])
for parts, text in (((0, 0, 0), "P0D"), ((1, 2, 3004), "P1M2DT3.004S"), ((0, 0, 5000), "PT5S"),
                    ((2**32 - 1, 0, 2**32 - 1), "P4294967295MT4294967.295S")):
    case("duration", fixed(12, logicalType="duration"), struct.pack("<III", *parts),
         expected=["text", text])

INNER = {"type": "record", "name": "Inner", "namespace": "a.b",
         "fields": [{"name": "name", "type": "string"}, {"name": "price", "type": logical(
             "bytes", "decimal", precision=9, scale=2)}, {"name": "at", "type": logical(
                 "long", "timestamp-millis")}]}
INSIDE = {"name": "ä\"", "price": D("1.50"), "at": dt.datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)}
WHOLE = record(before="long", inner=INNER, again=["null", "a.b.Inner"],
               list={"type": "array", "items": ["null", "double"]},
               names={"type": "map", "values": "a.b.Inner"}, blob="bytes",
               day=logical("int", "date"), last="string")
VALUE = {"before": 2**60, "inner": INSIDE, "again": None, "list": [None, 1.5, -2.0, math.nan],
         "names": {"x": INSIDE, "y/~": INSIDE}, "blob": b"\0\xff", "day": dt.date(2024, 5, 31),
         "last": "end"}
for path in ("", "/before", "/inner", "/inner/name", "/inner/price", "/inner/at", "/again", "/list",
             "/list/1", "/list/0", "/names", "/names/x", "/names/x/price", "/blob", "/day", "/last"):
    case("record " + path, WHOLE, VALUE, path)
LINKED = {"type": "record", "name": "Link",
          "fields": [{"name": "value", "type": "int"}, {"name": "next", "type": ["null", "Link"]}]}
CHAIN = {"value": 1, "next": {"value": 2, "next": {"value": 3, "next": None}}}
for path in ("/next/next/value", "/next/next/next", "/next"):
    case("recursive " + path, LINKED, CHAIN, path)

PLACE = pathlib.Path(__file__).with_name("samples.json")
PLACE.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in CASES) + "\n]\n")
print(len(CASES), "cases")

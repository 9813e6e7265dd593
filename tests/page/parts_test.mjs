// The pure parts of the page, without a browser. tests/page/run copies this next to them.

import {test} from 'node:test';
import assert from 'node:assert/strict';
import {
    advice, forgettable, headline, stuckPartitions, topicState, wholeClaims,
} from './advice.js';
import {ago, bytes, duration, indented, link, route, sinceTrial, time} from './base.js';

const worker = {number: 0, database: 'postgres', running: true, failure: ''};
const overview = (more = {}) => ({
    process: {workers: [worker], draining: false}, topics: [],
    outbox: {waiting: 0, oldest_seconds: 0}, ...more,
});
const topic = (more = {}) => ({topic: 'orders', configured: true, partitions: 4, halted: 0,
    stalled: 0, paused: null, open_letters: 0, lag: 0, ...more});
const halted = (partition, more = {}) => ({topic: 'orders', partition,
    halted: {reason: 'failed', text: 'no such table', ...more}});

test('a healthy group needs nobody', () => {
    const items = advice(overview({topics: [topic()]}), []);
    assert.deepEqual(items, []);
    assert.equal(headline(items).tone, 'good');
});

test('partitions that halted for one reason are one item, before warnings', () => {
    const items = advice(overview({topics: [topic({open_letters: 2})]}),
        [halted(0), halted(3), halted(5, {reason: 'out_of_range', lost: [3, 9]})]);
    assert.deepEqual(items.map((item) => item.title), ['orders: 2 partitions halted (0, 3)',
        'orders: 1 partition halted (5)', 'orders: 2 open dead letters']);
    assert.match(items[1].text, /Offsets 3 up to 9 are gone/);
    assert.match(items[1].next, /--set earliest/);
    assert.equal(headline(items).text, '2 problems to solve');
});

test('a worker without PostgreSQL, a pause and a full outbox are said', () => {
    const items = advice(overview({
        process: {workers: [{...worker, failure: '08006'}], draining: true},
        topics: [topic({paused: {by: 'anna', reason: 'bank'}})],
        outbox: {waiting: 12, oldest_seconds: 90},
    }), [{topic: 'orders', partition: 1, stalled: true, standing_ms: 90000,
        stalled_because: 'a lock'}]);
    assert.equal(items.filter((item) => item.tone === 'bad').length, 2);
    assert.equal(items.length, 5);
});

test('the worst of a topic is its state', () => {
    assert.equal(topicState(topic({halted: 1, open_letters: 3})).text, '1 halted');
    assert.equal(topicState(topic({open_letters: 3})).tone, 'warn');
    assert.equal(topicState(topic({lag: 3, age_ms: 900})).text, 'reading');
    assert.equal(topicState(topic({lag: 3, age_ms: 60000})).text, 'catching up');
    assert.equal(topicState(topic({partitions: 0})).text, 'not read yet');
});

test('partitions of another process that stand still are a problem', () => {
    const now = Date.UTC(2026, 10, 25, 9, 2);
    const one = {database: 'd', topic: 'orders', partition: 1, next_offset: 7, lag: 3, mine: false,
        owner: 'a:1/0', moved_at: '2026-11-25 09:00:00+00'};
    const seen = new Map();
    assert.deepEqual(stuckPartitions([one], seen, now), []);
    assert.deepEqual(stuckPartitions([one], seen, now + 2000), []);
    const stuck = stuckPartitions([one], seen, now + 6000);
    assert.deepEqual(stuck, [one]);
    assert.match(advice(overview(), [], stuck)[0].title, /1 partition of another process does not/);
    assert.deepEqual(stuckPartitions([{...one, lag: 0}], seen, now + 8000), []);
    for (const more of [{mine: true}, {lag: null}, {next_offset: 8}, {retired: true},
        {moved_at: '2026-11-25 09:01:30+00'}]) {
        const look = new Map();
        stuckPartitions([one], look, now);
        assert.deepEqual(stuckPartitions([{...one, ...more}], look, now + 6000), []);
    }
});

test('a key is forgotten where it was applied', () => {
    const claims = [{topic: 'orders'}, {topic: 'orders'}, {route: 'POST /pay'}, {group: 'inbox'}];
    assert.deepEqual(forgettable({key: 'k', tenant: '', other: 'x'}, [{claims, leases: []}]),
        [{key: 'k', topic: 'orders'}, {key: 'k', route: 'POST /pay'}]);
    const leases = [{topic: 'calls', state: 'in_flight'}, {topic: 'o', state: 'done'}];
    assert.deepEqual(forgettable({key: 'k', tenant: 't', digest: '1'}, [{claims: [], leases}]),
        [{key: 'k', topic: 'o', tenant: 't', digest: true}]);
    assert.deepEqual(forgettable({key: 'k'}, []), []);
});

test('a claim of a batch in several partitions is one claim', () => {
    const claim = {digest: 'd', ledger: 'l', generation: 1, claimed_at: 't', topic: 'orders'};
    const whole = wholeClaims([{...claim, partition: 0}, {...claim, partition: 1},
        {...claim, generation: 2, partition: 1}]);
    assert.deepEqual(whole.map((one) => one.places.map((at) => at.partition)), [[0, 1], [1]]);
});

test('times, sizes and durations are read by people', () => {
    assert.equal(duration(95000), '1 min 35 s');
    assert.equal(duration(7 * 86400000), '7 d');
    assert.equal(duration(200), 'under 1 s');
    assert.equal(duration(0), '0 s');
    assert.equal(bytes(81234567), '81.2 MB');
    const at = time('2026-11-25 09:00:00.123456+00');
    assert.equal(at.toISOString(), '2026-11-25T09:00:00.123Z');
    assert.equal(time('2026-11-25 09:00:00+02:00').toISOString(), '2026-11-25T07:00:00.000Z');
    assert.equal(ago('2026-11-25 09:00:00+00', at.getTime() + 5000), '5 s ago');
    assert.equal(time(''), null);
});

test('a link leads back to what it was made of', () => {
    const values = {key: 'a/b&c=d é', topic: 'orders'};
    assert.deepEqual(route(link('key', values)), {path: 'key', values});
    assert.deepEqual(route(''), {path: 'overview', values: {}});
});

test('a payload keeps its numbers', () => {
    assert.equal(indented('{"a":12.50,"b":[],"a":1}'),
        '{\n  "a": 12.50,\n  "b": [],\n  "a": 1\n}');
    assert.equal(indented('"x"'), '"x"');
    assert.throws(() => indented('{"a"'));
});

test('an act says how its dead letters differ from those of its trial', () => {
    assert.equal(sinceTrial(12, 12), '');
    assert.equal(sinceTrial(12, 11), ' 1 is no longer open.');
    assert.equal(sinceTrial(12, 0), ' 12 are no longer open.');
    assert.equal(sinceTrial(12, 14), ' 2 of them came after the trial.');
});

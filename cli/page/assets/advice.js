// What is wrong, and what to do next: from the overview's and the partitions' answers to sentences.
// Pure; the tests run it without a browser.

import {count, duration, plural, time} from './base.js';

// By the reason of a halt; docs/operations/halted.md has the whole of it.
export const haltAdvice = {
    failed: 'Fix what the text says; the partition is tried again by itself. If one message is ' +
        'the cause, `onceward offsets --set` passes it.',
    fence_lost: 'Kafka has this group’s mark, but PostgreSQL has no fence row. Check that this ' +
        'is the right database, then `onceward offsets --set`.',
    retired: 'Somebody ran `onceward groups retire`. Undo it with `onceward groups retire --undo`.',
    other_log: 'The topic was deleted and recreated, or this is another cluster. If that is ' +
        'meant: `onceward offsets --set ... --adopt-topic-id`.',
    out_of_range: 'Kafka no longer holds these offsets. Look for another copy of them, then ' +
        '`onceward offsets --topic T --partition P --set earliest` shows what would be written ' +
        'down as lost, and does it with `--reason ... --yes`.',
    log_cut: 'The log ends before the fence, or was rewritten there. Find out what happened to ' +
        'the log, then `onceward offsets --set`.',
    unreadable: 'A record is damaged. After the broker is repaired: `onceward offsets retry`. To ' +
        'pass it: `onceward offsets skip`.',
    memory: 'Reading there took more memory than the process may have. Raise `memory.budget`, ' +
        'then `onceward offsets retry`; or `onceward offsets skip`.',
};

export function haltedItems(partitions) {
    const groups = new Map();
    for (const one of partitions.filter((partition) => partition.halted)) {
        const key = JSON.stringify([one.topic, one.halted.reason, one.halted.text]);
        groups.set(key, [...(groups.get(key) ?? []), one]);
    }
    return [...groups.values()].map((group) => {
        const {topic, halted} = group[0];
        const numbers = group.map((one) => one.partition).join(', ');
        return {
            tone: 'bad',
            title: `${topic}: ${plural(group.length, 'partition')} halted (${numbers})`,
            text: `${halted.reason}: ${halted.text}` +
                (halted.lost ? ` Offsets ${halted.lost[0]} up to ${halted.lost[1]} are gone.` : ''),
            next: haltAdvice[halted.reason] ?? '',
            runbook: 'docs/runbooks.md#oncewardhalted',
            view: ['partitions', {topic}],
        };
    });
}

function stalledItems(partitions) {
    return partitions.filter((one) => one.stalled && !one.halted).map((one) => ({
        tone: 'bad',
        title: `${one.topic} partition ${one.partition} has not advanced for ${
            duration(one.standing_ms)}`,
        text: one.stalled_because,
        next: 'Messages wait there. Remove the cause; nothing is lost, and it continues by itself.',
        runbook: 'docs/runbooks.md#oncewardstalled',
        view: ['partitions', {topic: one.topic}],
    }));
}

// Partitions of other processes whose messages wait at a fence that stands still. Why is in memory
// there. A fence that stood still because nothing came has moved by the next look.
const stillMs = 60000;
const looksApart = 5000;
export function stuckPartitions(partitions, seen, now = Date.now()) {
    return partitions.filter((one) => {
        const id = `${one.database}/${one.topic}/${one.partition}`;
        const waits = !one.mine && !one.retired && one.lag > 0
            && now - (time(one.moved_at)?.getTime() ?? now) > stillMs;
        const before = seen.get(id);
        if (!waits) seen.delete(id);
        else if (before?.fence !== one.next_offset) seen.set(id, {fence: one.next_offset, at: now});
        return waits && before?.fence === one.next_offset && now - before.at >= looksApart;
    });
}

function stuckItems(stuck) {
    return [...new Set(stuck.map((one) => one.topic))].map((topic) => {
        const those = stuck.filter((one) => one.topic === topic);
        const owners = [...new Set(those.map((one) => one.owner))].join(', ');
        return {tone: 'bad',
            title: `${topic}: ${plural(those.length, 'partition')} of another process ` +
                `${those.length === 1 ? 'does' : 'do'} not move`,
            text: `Messages wait there. Last taken by ${owners}.`,
            next: 'The page or the log of that process has the reason. If it is gone, the group ' +
                'gives its partitions to others.',
            runbook: 'docs/runbooks.md#oncewardhalted', view: ['partitions', {topic}]};
    });
}

// The items that need somebody, the worst first. `stuck`: what stuckPartitions found.
export function advice(overview, partitions, stuck = []) {
    const items = [...haltedItems(partitions), ...stalledItems(partitions), ...stuckItems(stuck)];
    const {process, topics, outbox} = overview;
    for (const worker of process.workers.filter((one) => !one.running)) {
        items.push({tone: 'bad', title: `Worker ${worker.number} of this process ended`,
            text: worker.ended, next: 'It is started again by itself. The log has the reason.',
            runbook: 'docs/operations/watching.md', view: ['rebalances', {}]});
    }
    for (const worker of process.workers.filter((one) => one.running && one.failure)) {
        items.push({tone: 'bad',
            title: `Worker ${worker.number}: PostgreSQL (${worker.database}) refuses or is away`,
            text: worker.failure, next: 'Workers try again by themselves; nothing is lost.',
            runbook: 'docs/runbooks.md#oncewardpostgresaway', view: ['partitions', {}]});
    }
    for (const topic of topics.filter((one) => one.paused)) {
        items.push({tone: 'warn', title: `${topic.topic} is paused`,
            text: `By ${topic.paused.by}: ${topic.paused.reason}`,
            next: 'Messages wait in Kafka. `onceward resume` continues.',
            runbook: 'docs/operations/pausing.md', view: ['partitions', {topic: topic.topic}]});
    }
    for (const topic of topics.filter((one) => one.open_letters > 0)) {
        items.push({tone: 'warn',
            title: `${topic.topic}: ${plural(topic.open_letters, 'open dead letter')}`,
            text: 'These messages were not applied, and their keys are free.',
            next: 'Look at the reasons; after the cause is fixed, redrive them.',
            runbook: 'docs/runbooks.md#oncewarddeadletters',
            view: ['letters', {topic: topic.topic}]});
    }
    if (outbox.oldest_seconds > 60) {
        items.push({tone: 'warn', title: `${count(outbox.waiting)} records wait in the outbox`,
            text: `The oldest for ${duration(outbox.oldest_seconds * 1000)}.`,
            next: 'Is the relay running, and does Kafka answer?',
            runbook: 'docs/runbooks.md#oncewardoutboxwaits', view: ['overview', {}]});
    }
    if (process.draining) {
        items.push({tone: 'warn', title: 'This process is draining',
            text: 'It finishes what is under way and ends.', next: '', runbook: '',
            view: ['rebalances', {}]});
    }
    return items.sort((a, b) => (a.tone === b.tone ? 0 : a.tone === 'bad' ? -1 : 1));
}

// A topic's state in one word, and how bad it is.
export function topicState(topic) {
    if (topic.halted) return {tone: 'bad', text: `${topic.halted} halted`};
    if (topic.stalled) return {tone: 'bad', text: `${topic.stalled} stalled`};
    if (topic.paused) return {tone: 'warn', text: 'paused'};
    if (topic.stuck) return {tone: 'bad', text: `${topic.stuck} stand still`};
    if (topic.partitions === 0) return {tone: 'plain', text: 'not read yet'};
    if (!topic.configured) return {tone: 'plain', text: 'not configured here'};
    if (topic.open_letters) return {tone: 'warn', text: 'dead letters'};
    if (!topic.lag) return {tone: 'good', text: 'up to date'};
    return {tone: 'good', text: topic.age_ms > 10000 ? 'catching up' : 'reading'};
}

export function headline(items) {
    const bad = items.filter((item) => item.tone === 'bad').length;
    if (bad) return {tone: 'bad', text: `${plural(bad, 'problem')} to solve`};
    if (items.length) return {tone: 'warn', text: `${plural(items.length, 'thing')} to look at`};
    return {tone: 'good', text: 'Everything that arrives is applied'};
}

// A ledger in a log keeps where a transaction's messages were, and not which of them had the key:
// one claim then comes once for each partition. Here it is one with several `places`.
export function wholeClaims(claims) {
    const whole = new Map();
    for (const claim of claims) {
        const id = JSON.stringify([claim.digest, claim.ledger, claim.generation,
            claim.claimed_at, claim.topic, claim.fingerprint]);
        if (!whole.has(id)) whole.set(id, {...claim, places: []});
        whole.get(id).places.push(claim);
    }
    // In the order of its way, hop by hop.
    const at = (claim) => time(claim.claimed_at)?.getTime() ?? 0;
    return [...whole.values()].sort((a, b) => at(a) - at(b));
}

// What `forget` is asked, for each topic or route that has applied the key: it takes one of them,
// which a search in all of them does not name. Claims of a library or an import have neither.
export function forgettable(values, servers) {
    const asked = new Map();
    const applied = servers.flatMap(({claims, leases}) => [...claims,
        ...leases.filter((lease) => lease.state === 'done')]);
    for (const claim of applied) {
        const owner = claim.route || claim.topic;
        if (!owner || asked.has(owner)) continue;
        const body = {key: claim.onceward_id ?? values.key,
            ...(claim.route ? {route: owner} : {topic: owner})};
        for (const name of ['tenant', 'operation', 'source']) {
            if (values[name]) body[name] = values[name];
        }
        asked.set(owner, values.digest === '1' ? {...body, digest: true} : body);
    }
    return [...asked.values()];
}

// What happened: rebalances as this process saw them, and what people did.

import {useAnswer} from './api.js';
import {Answered, Empty, Table, Tag} from './parts.js';
import {html, time, When} from './base.js';

const kinds = {
    assigned: ['good', 'got'], revoked: ['plain', 'lost'], halted: ['bad', 'halted'],
    moving: ['good', 'moves again'], worker_ended: ['bad', 'worker ended'],
};

// What one rebalance moves is one row: the same second, kind, worker and topic.
function together(events) {
    const rows = [];
    for (const event of [...events].reverse()) {
        const last = rows.at(-1);
        const same = last && last.kind === event.kind && last.worker === event.worker
            && last.topic === event.topic && last.text === event.text && last.at - event.at < 2000;
        if (same) last.partitions.push(event.partition);
        else rows.push({...event, partitions: [event.partition]});
    }
    return rows;
}

const events = [
    {name: 'at', label: 'When', cell: (one) => html`<${When} at=${one.at} /> <code class="quiet">${
        new Date(one.at).toLocaleTimeString()}</code>`},
    {name: 'kind', label: 'What', cell: (one) => {
        const [tone, text] = kinds[one.kind];
        return html`<${Tag} tone=${tone}>${text}</${Tag}>`;
    }},
    {name: 'worker', label: 'Worker', number: true, cell: (one) => one.worker},
    {name: 'topic', label: 'Topic', cell: (one) => one.topic || '–'},
    {name: 'partitions', label: 'Partitions', cell: (one) => (one.topic
        ? one.partitions.sort((a, b) => a - b).join(', ') : '–')},
    {name: 'text', label: 'Why', cell: (one) => html`<span class="said">${one.text}</span>`},
];

const takes = [
    {name: 'taken', label: 'Taken', sort: (one) => one.taken_at,
        cell: (one) => html`<${When} at=${one.taken_at} />`},
    {name: 'topic', label: 'Topic', sort: (one) => one.topic, cell: (one) => one.topic},
    {name: 'partition', label: 'Partition', number: true, sort: (one) => one.partition,
        cell: (one) => one.partition},
    {name: 'owner', label: 'By', sort: (one) => one.owner,
        cell: (one) => html`<code>${one.owner}</code>`},
    {name: 'epoch', label: 'Times', number: true, sort: (one) => one.epoch,
        cell: (one) => one.epoch},
];

const newest = (a, b) => (time(b.taken_at) ?? 0) - (time(a.taken_at) ?? 0);

export function Rebalances() {
    const answer = useAnswer('rebalances', {});
    return html`<h1>Rebalances</h1><${Answered} answer=${answer} show=${(data) => html`
        <h2>Seen by this process</h2>
        <p class="quiet">In memory since <${When} at=${data.since} />, no more than 500${data.forgot
            ? '; older ones are forgotten' : ''}. Other processes have their own.</p>
        ${data.events.length === 0 ? html`<${Empty}>This process got no partition yet.</${Empty}>`
            : html`<${Table} caption="Events" columns=${events} rows=${together(data.events)}
                keyOf=${(one) => `${one.at}${one.kind}${one.topic}${one.worker}`} />`}
        <h2>The last owner of each partition, from PostgreSQL</h2>
        <${Table} caption="Owners" columns=${takes} rows=${[...data.takes].sort(newest)}
            keyOf=${(one) => `${one.topic}/${one.partition}`} />`} />`;
}

const acts = [
    {name: 'at', label: 'When', cell: (one) => html`<${When} at=${one.at} />`},
    {name: 'who', label: 'Who', cell: (one) => one.who ?? one.database_role},
    {name: 'act', label: 'Act', cell: (one) => html`<strong>${one.act}</strong>${
        one.outcome && one.outcome !== 'done' && ` ${one.outcome}`}`},
    {name: 'target', label: 'On', cell: (one) => html`<span class="said">${one.target}</span>`},
    {name: 'reason', label: 'Reason', cell: (one) => html`<span class="said">${
        one.reason || '–'}</span>`},
];

export function Acts() {
    const answer = useAnswer('acts', {}, 10000);
    const show = (data) => html`${data.acts.length === 0
        ? html`<${Empty}>Nobody has paused, moved, skipped, forgotten or replayed anything.
            </${Empty}>`
        : html`<${Table} caption="Acts by hand" columns=${acts} rows=${data.acts}
            keyOf=${(one) => `${one.at}${one.act}${one.target}`} />`}
        <p class="quiet">${data.from === 'audit_log' ? 'From the audit log.'
            : 'From the tables that each act writes. What became of dead letters is in their list.'
        }</p>`;
    return html`<h1>What people did</h1><${Answered} answer=${answer} show=${show} />`;
}

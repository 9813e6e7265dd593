// What each ledger keeps, and what keeps it from forgetting.

import {useAnswer} from './api.js';
import {Answered, Empty, Table, Tag} from './parts.js';
import {bytes, count, duration, html, When} from './base.js';

function held(ledger) {
    const seconds = ledger.held_back_seconds;
    // Watermarks follow the clock at half a minute.
    if (seconds < 120) return ['good', 'on time'];
    return [seconds > 3600 ? 'bad' : 'warn', `held back for ${duration(seconds * 1000)}`];
}

const columns = [
    {name: 'ledger', label: 'Ledger', sort: (one) => one.ledger,
        cell: (one) => html`<code>${one.ledger}</code>`},
    {name: 'held', label: 'Retention', sort: (one) => one.held_back_seconds, cell: (one) => {
        const [tone, text] = held(one);
        return html`<${Tag} tone=${tone}>${text}</${Tag}>`;
    }},
    {name: 'keeps', label: 'Keeps', number: true, sort: (one) => one.retention_seconds,
        cell: (one) => duration(one.retention_seconds * 1000)},
    {name: 'claims', label: 'Claims', number: true, sort: (one) => one.claims_estimated,
        cell: (one) => (one.claims_counted ? '' : 'about ') + count(one.claims_estimated)},
    {name: 'bytes', label: 'Size', number: true, sort: (one) => one.bytes,
        cell: (one) => bytes(one.bytes)},
    {name: 'generations', label: 'Generations', number: true, sort: (one) => one.generations,
        cell: (one) => one.generations},
    {name: 'oldest', label: 'Oldest', sort: (one) => one.oldest,
        cell: (one) => html`<${When} at=${one.oldest} />`},
    {name: 'store', label: 'Store', sort: (one) => one.store,
        cell: (one) => `${one.store}, ${one.reach}`},
];

function holder(one) {
    if (one.replay) return `replay ${one.replay} of ${one.topic}, begun by ${one.started_by}`;
    if (one.route) return `requests to ${one.route}`;
    const part = one.partition < 0 ? 'its list of partitions' : `partition ${one.partition}`;
    return `group ${one.group}, topic ${one.topic}, ${part}`;
}

function Holders({ledger}) {
    if (ledger.held_back_seconds < 120 || !ledger.held_back_by.length) return null;
    return html`<section><h2>What holds <code>${ledger.ledger}</code> back</h2><ul>${
        ledger.held_back_by.map((one) => html`<li>${holder(one)}: ${one.watermark
            ? html`passed up to <${When} at=${one.watermark} />` : 'never passed'}</li>`)}</ul>
        <p><strong>Next:</strong> let the first of these move, or retire a group that is gone:${' '}
        <code>onceward groups retire</code>. Runbook${' '}
        <code>docs/runbooks.md#oncewardretentionheldback</code></p></section>`;
}

export function Ledgers() {
    const answer = useAnswer('ledgers', {}, 10000);
    return html`<h1>Ledgers</h1><${Answered} answer=${answer} show=${(data) => (
        data.ledgers.length === 0 ? html`<${Empty}>The group has no ledger yet.</${Empty}>`
            : html`<${Table} caption="Ledgers" columns=${columns} rows=${data.ledgers}
                keyOf=${(one) => `${one.database}/${one.ledger}`} />
                ${data.ledgers.map((one) => html`<${Holders} ledger=${one} />`)}`)} />`;
}

// What became of a key: first the verdict, then each place that knows of it.

import {useAnswer} from './api.js';
import {Act} from './acts.js';
import {forgettable, wholeClaims} from './advice.js';
import {Answered, Empty, Note, Tag} from './parts.js';
import {html, link, When} from './base.js';

function place(at) {
    if (at.route) return html`a request to <code>${at.route}</code>`;
    if (at.group === 'once()') return 'a call of once()';
    if (at.group === 'inbox') return 'a call of the inbox';
    if (!at.topic) return at.group === 'onceward import' ? 'an import' : 'a topic that is gone';
    const offset = at.last_offset !== undefined && at.last_offset !== at.offset
        ? `offsets ${at.offset} to ${at.last_offset}` : `offset ${at.offset}`;
    return html`<a href=${link('partitions', {topic: at.topic})}>${at.topic}</a> partition ${
        at.partition}, ${offset}`;
}

const places = (claim) => claim.places.map((at, n) => html`${n > 0 && ' or '}${place(at)}`);

function Hop({name, tone, children}) {
    return html`<li><h3><${Tag} tone=${tone}>${name}</${Tag}></h3><div>${children}</div></li>`;
}

// The key's message became a record, which has a key of its own.
const published = ({published_by: by, onceward_id: id}) => by && html` It is the record${' '}
    <code>${id}</code> that ${by} published.`;

function Claim({claim, sinks}) {
    const sink = sinks[claim.route ?? claim.topic];
    const mark = claim.fingerprint && html`, fingerprint <code>${claim.fingerprint}</code>`;
    return html`<${Hop} name="Claim" tone="good">
        <p>Applied <${When} at=${claim.claimed_at} /> (<code>${claim.claimed_at}</code>) from ${
        places(claim)}.${published(claim)}</p><p class="quiet">Ledger <code>${
        claim.ledger}</code>, generation ${
        claim.generation}, kind ${claim.kind}${mark}</p></${Hop}>
        ${sink && html`<${Hop} name="Effect" tone="good"><p>Written to ${sink}, in the transaction
        of the claim: there is neither without the other.</p></${Hop}>`}`;
}

const leases = {
    done: ['good', 'The call is done'], failed: ['bad', 'The call failed for good'],
    in_flight: ['warn', 'The call is in flight'],
    unanswered: ['bad', 'Unanswered: whether it took effect is not known'],
    released: ['warn', 'Released, to be tried again'],
};

function Lease({lease}) {
    const [tone, text] = leases[lease.state] ?? ['plain', lease.state];
    return html`<${Hop} name="Lease" tone=${tone}><p>${text}${lease.status !== undefined
        && ` with status ${lease.status}`}, from ${place(lease)}. Tries: ${
        lease.attempts}. Claimed <${When} at=${lease.claimed_at} />, the lease ends <code>${
        lease.lease_until}</code>.${published(lease)}</p><p class="quiet">Ledger <code>${
        lease.ledger}</code>, kind ${lease.kind}, called with the key <code>${
        lease.downstream_key}</code></p>${
        lease.reason && html`<p class="said">${lease.reason}</p>`}</${Hop}>`;
}

function Letter({letter}) {
    const discarded = letter.state === 'discarded';
    const tone = letter.state === 'open' ? 'bad' : 'plain';
    return html`<${Hop} name="Dead letter" tone=${tone}><p>Number ${discarded ? letter.number
        : html`<a href=${link('letters', {number: letter.number, state: 'all'})}>${
            letter.number}</a>`}, ${letter.state}, <${When} at=${letter.created_at} />, from ${
        place(letter)}: <strong>${letter.error_class}</strong> ${letter.sqlstate}</p>
        <p class="said">${letter.reason}</p></${Hop}>`;
}

function Hops({server, sinks}) {
    const letters = [...server.dead_letters, ...(server.discarded_dead_letters ?? [])];
    return html`<ol class="hops">
        ${wholeClaims(server.claims).map((claim) => html`<${Claim} claim=${claim}
            sinks=${sinks} />`)}
        ${server.results.map((result) => html`<${Hop} name="Answer" tone="good"><p>${
            result.result}${result.status ? ` with status ${result.status}` : ''}, ${
            result.bytes} bytes, stored <${When} at=${result.stored_at} />. Repeats get it.</p>
            </${Hop}>`)}
        ${server.leases.map((lease) => html`<${Lease} lease=${lease} />`)}
        ${server.outbox.map((row) => html`<${Hop} name="Outbox" tone="warn"><p>Waits for topic${' '}
            <code>${row.topic}</code> since <${When} at=${row.created_at} />, id <code>${
            row.id}</code>.</p></${Hop}>`)}
        ${letters.map((letter) => html`<${Letter} letter=${letter} />`)}
        ${server.evictions.map((one) => html`<${Hop} name="Forgotten" tone="warn"><p>Taken
            out of ledger <code>${one.ledger}</code> <${When} at=${one.evicted_at} /> by ${
            one.evicted_by}: ${one.reason}</p></${Hop}>`)}</ol>`;
}

// The verdict, and what it means for the next message with this key.
function verdict(servers) {
    const open = servers.some((one) => one.dead_letters.some((letter) => letter.state === 'open'));
    const flight = servers.some((one) => one.leases.some((lease) => lease.state === 'in_flight'));
    const doubt = servers.some((one) => one.leases.some((lease) => lease.state === 'unanswered'));
    if (servers.some((one) => one.applied) && open) {
        return ['warn', 'Applied, and there is a dead letter', 'Another message with this key ' +
            'will be a duplicate. The dead letter below is of another message, or of a record ' +
            'that was made of this one.'];
    }
    if (servers.some((one) => one.applied)) {
        return ['good', 'Applied', 'Another message with this key will be a duplicate.'];
    }
    if (doubt) {
        return ['bad', 'In doubt', 'The call got no answer. Ask the other system, then decide.'];
    }
    if (flight) return ['warn', 'In flight', 'A worker is at it. Look again in a moment.'];
    if (open) {
        return ['bad', 'Not applied: it is a dead letter', 'Its key is free. Fix the cause, then ' +
            'redrive the dead letter.'];
    }
    return ['plain', 'Not applied', 'Its key is free: a message with it will be applied.'];
}

function Memory({server}) {
    if (!server.ledgers.length) return html`<p>No ledger could know this key.</p>`;
    return html`<ul class="plain">${server.ledgers.map((ledger) => html`<li>Ledger${' '}
        <code>${ledger.ledger}</code> ${ledger.claims_since
            ? html`knows of keys since <${When} at=${ledger.claims_since} /> (<code>${
                ledger.claims_since}</code>); what was applied before is forgotten.`
            : 'has no claims yet.'}</li>`)}</ul>`;
}

function Story({data, session, values}) {
    const [tone, title, next] = verdict(data.servers);
    const owned = forgettable(values, data.servers);
    const empty = (one) => !one.claims.length && !one.leases.length && !one.outbox.length
        && !one.dead_letters.length && !one.evictions.length && !one.results.length
        && !one.discarded_dead_letters?.length;
    return html`<${Note} tone=${tone} title=${title}><p><code class="key">${values.key}</code></p>
        <p>${next}</p><p class="row">${owned.map((asked) => html`<${Act} session=${session}
            key=${JSON.stringify(asked)} what="forget" values=${asked} label=${owned.length > 1
                ? `Forget in ${asked.topic ?? asked.route} …` : 'Forget …'} />`)}</p></${Note}>
        ${data.servers.map((server) => html`<section><h2>${data.servers.length > 1
            ? `On ${server.database}` : 'What is known'}</h2>
            ${empty(server) ? html`<${Empty}>No claim, lease, outbox row, dead letter or eviction
                has this key.</${Empty}>` : html`<${Hops} server=${server} sinks=${data.sinks} />`}
            ${!server.applied && html`<${Memory} server=${server} />`}
            <details><summary>Digests that were looked for</summary><ul class="plain">${
                server.digests.map((one) => html`<li><code>${one.digest}</code> ${one.kind}</li>`)
            }</ul></details></section>`)}
        ${data.without_tenant.map((owner) => html`<p class="quiet">Not looked for: keys of ${owner},
            which belong to tenants. Name one above.</p>`)}`;
}

export function Key({values, session}) {
    const answer = useAnswer('key', values, 5000);
    if (!values.key) {
        return html`<h1>Key search</h1><${Empty}>Type an idempotency key above: it is looked for in
            every topic and route. <kbd>/</kbd> jumps there.</${Empty}>`;
    }
    return html`<h1>Key search</h1><${Answered} answer=${answer} show=${(data) => html`<${Story}
        data=${data} session=${session} values=${values} />`} />`;
}

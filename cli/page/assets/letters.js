// Dead letters: by cause first, then one by one with what they were made of.

import {useState} from './hooks.mjs';
import {useAnswer} from './api.js';
import {Act} from './acts.js';
import {Answered, Empty, Table, Tag} from './parts.js';
import {bytes, count, html, indented, link, plural, When} from './base.js';

function shown(letter) {
    if (letter.payload === null) return 'null';
    try {
        return indented(letter.decoded ?? letter.payload);
    } catch {
        return letter.payload;
    }
}

function Letter({letter, session}) {
    const [open, setOpen] = useState(false);
    const key = letter.key ?? '';
    return html`<li class="letter"><button class="letter-head" aria-expanded=${open}
        onClick=${() => setOpen(!open)}><span class="number">${letter.number}</span>
        <span class="grow"><strong>${letter.topic}</strong> ${letter.partition}/${
        letter.offset} <span class="said">${letter.reason}</span></span>
        <${Tag} tone=${letter.state === 'open' ? 'warn' : 'plain'}>${letter.state}</${Tag}></button>
        ${open && html`<div class="letter-body">
        <dl><dt>Rejected</dt><dd><${When} at=${letter.created_at} /> <code>${
            letter.created_at}</code></dd>
        <dt>Class</dt><dd>${letter.class} ${letter.sqlstate}</dd>
        <dt>Key</dt><dd>${key ? html`<a href=${link('key', {key, topic: letter.topic})}><code
            class="key">${key}</code></a>` : html`<span class="quiet">none</span>`}</dd>
        <dt>Record key</dt><dd><code class="key">${letter.record_key ?? 'null'}</code></dd>
        <dt>Tries</dt><dd>${letter.attempts}, redriven ${plural(letter.redrives, 'time')}</dd></dl>
        <h3>Payload, ${bytes(letter.payload_bytes)}${letter.payload_cut
            && ', the beginning'}</h3><pre tabindex="0" aria-label="Payload">${shown(letter)}</pre>
        ${letter.payload_hex && html`<pre tabindex="0" aria-label="Payload in hexadecimal">${
            letter.payload_hex}</pre>`}
        ${letter.headers.length > 0 && html`<h3>Headers</h3><dl>${letter.headers.map(
            (header) => html`<dt>${header.name}</dt><dd><code class="key">${
                header.value ?? 'null'}</code></dd>`)
            }</dl>`}
        <p class="row"><${Act} session=${session} what="redrive" label="Redrive …"
            values=${{topic: letter.topic, numbers: [letter.number]}} />
        <${Act} session=${session} what="discard" label="Discard …"
            values=${{topic: letter.topic, numbers: [letter.number]}} /></p></div>`}</li>`;
}

function List({values, session, filter}) {
    const [before, setBefore] = useState(null);
    const answer = useAnswer('letters/list', {...filter, before}, before ? 0 : 5000);
    return html`<${Answered} answer=${answer} show=${(data) => (data.letters.length === 0
        ? html`<${Empty}>None${values.state === 'all' ? '' : ' is open'}.</${Empty}>`
        : html`<ul class="letters">${data.letters.map((letter) => html`<${Letter}
            key=${letter.number} letter=${letter} session=${session} />`)}</ul>
        <p class="row">${before && html`<button onClick=${() => setBefore(null)}>Newest</button>`}
        ${data.more && html`<button onClick=${() => setBefore(data.letters.at(-1).number)}>Older
            </button>`}</p>`)} />`;
}

const filterOf = (values) => {
    const {topic, state, database, sqlstate, said, number} = values;
    return {topic, state, database, class: values.class, sqlstate, said, number};
};

function groupColumns(values) {
    return [
        {name: 'count', label: 'Letters', number: true, sort: (group) => group.count,
            cell: (group) => count(group.count)},
        {name: 'topic', label: 'Topic', sort: (group) => group.topic,
            cell: (group) => group.topic},
        {name: 'class', label: 'Class', sort: (group) => group.class,
            cell: (group) => html`${group.class} ${group.sqlstate}`},
        {name: 'said', label: 'Reason', cell: (group) => html`<a class="said" title=${
            group.example} href=${link('letters', {state: values.state, topic: group.topic,
                database: group.database, class: group.class, sqlstate: group.sqlstate,
                said: group.said})}>${group.said}</a>`},
        {name: 'last', label: 'Last', sort: (group) => group.last,
            cell: (group) => html`<${When} at=${group.last} />`},
        {name: 'first', label: 'First', sort: (group) => group.first,
            cell: (group) => html`<${When} at=${group.first} />`},
    ];
}

export function Letters({values, session}) {
    const groups = useAnswer('letters', {topic: values.topic, state: values.state}, 5000);
    const all = values.state === 'all';
    const one = values.class !== undefined || values.number !== undefined;
    const filter = filterOf(values);
    return html`<h1>Dead letters${values.topic && ` of ${values.topic}`}</h1>
        <p class="row"><a class="button" href=${
            link('letters', {...values, state: all ? '' : 'all'})}>${
            all ? 'Only open ones' : 'Also those that were seen to'}</a>
        ${(one || values.topic) && html`<a class="button" href=${link('letters',
            {state: values.state})}>All causes</a>`}</p>
        ${!one && html`<${Answered} answer=${groups} show=${(data) => (data.groups.length === 0
            ? html`<${Empty}>No dead letter${all ? '' : ' is open'}. Every message was
                applied, was a duplicate, or waits in Kafka.</${Empty}>`
            : html`<h2>By cause</h2><${Table} caption="Dead letters by cause"
                columns=${groupColumns(values)} rows=${data.groups}
                keyOf=${(one) => JSON.stringify([one.topic, one.class, one.said])} />`)} />`}
        ${values.class !== undefined && html`<p><strong>${values.class}</strong> ${
            values.sqlstate}${' '}<span class="said">${values.said}</span></p><p class="row">
            ${['redrive', 'discard'].map((what) => html`<${Act} session=${session} what=${what}
                key=${what + JSON.stringify(filter)} filter=${filter}
                label=${what === 'redrive' ? 'Redrive all of these …' : 'Discard all of these …'}
                />`)}</p>`}
        <h2>${values.number ? `Number ${values.number}` : 'One by one, the newest first'}</h2>
        <${List} key=${JSON.stringify(filter)} values=${values} session=${session}
            filter=${filter} />`;
}

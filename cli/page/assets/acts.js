// What changes something: a button that opens a form with a reason and, for what deletes or sends,
// a trial first and a bound. Shown only to those who may act.

import {useRef, useState} from './hooks.mjs';
import {act, ask} from './api.js';
import {html, plural} from './base.js';

const picked = (answer) => plural(answer.picked, 'dead letter');

function redriven(answer) {
    if (answer.failure) return `${answer.delivered} sent, then: ${answer.failure}`;
    const kept = [[answer.exhausted, 'tried too often'], [answer.behind, 'behind another one'],
        [answer.uncertain, 'perhaps sent before']].filter(([n]) => n > 0)
        .map(([n, why]) => `${n} ${why}`);
    const rest = kept.length ? ` Left out: ${kept.join(', ')}.` : '';
    return (answer.done ? `${picked(answer)} sent.` : `${picked(answer)} would be sent.`) + rest;
}

// `tried`: with a dry run before it. `said`: the answer as a sentence.
const acts = {
    pause: {path: 'pause', title: 'Pause the topic',
        meaning: 'Messages wait in Kafka until it is resumed.', said: () => 'The topic is paused.'},
    resume: {path: 'resume', title: 'Resume the topic', meaning: 'It continues where it was.',
        said: () => 'The topic continues.'},
    redrive: {path: 'dlq/redrive', title: 'Redrive dead letters', tried: true, bounded: true,
        meaning: 'Each is sent to its topic again. One whose key was applied meanwhile is a ' +
            'duplicate there.', said: redriven},
    discard: {path: 'dlq/discard', title: 'Discard dead letters', tried: true, bounded: true,
        meaning: 'They are deleted with their payloads, for good.',
        said: (answer) => (answer.done ? `${answer.discarded} discarded.`
            : `${picked(answer)} would be discarded.`)},
    forget: {path: 'forget', title: 'Forget the key', tried: true,
        meaning: 'The next message with this key is applied again.',
        said: (answer) => (answer.done ? `${plural(answer.evicted, 'claim')} taken out.`
            : `${plural(answer.claims.length + answer.leases.length, 'claim')} to take out.`)},
};

// The numbers of the dead letters of one cause, the newest first. An act takes them by number, so
// that it takes nothing that came meanwhile.
export async function numbersOf(filter, most) {
    const numbers = [];
    for (let before = null, more = true; more && numbers.length < most;) {
        const answer = await ask('letters/list', {...filter, before});
        numbers.push(...answer.letters.map((letter) => letter.number));
        before = numbers.at(-1);
        more = answer.more;
    }
    return numbers.slice(0, most);
}

async function valuesOf(values, filter, most) {
    if (!filter) return values;
    const numbers = await numbersOf(filter, most);
    // No number at all would mean every dead letter.
    if (!numbers.length) throw new Error('There is none any more.');
    return {topic: filter.topic, numbers, limit: most};
}

// Either `values` for the act, or the `filter` of a cause of dead letters.
export function Act({session, what, label, values, filter}) {
    const dialog = useRef(null);
    const [reason, setReason] = useState('');
    const [most, setMost] = useState(100);
    const [outcome, setOutcome] = useState(null);
    const [busy, setBusy] = useState(false);
    if (!session?.may_act) return null;
    const {path, title, meaning, tried, bounded, said} = acts[what];
    const send = async (dry) => {
        setBusy(true);
        try {
            const body = {...await valuesOf(values, filter, most), reason};
            if (tried) body.dry_run = dry;
            setOutcome({text: said(await act(path, body)), dry});
        } catch (error) {
            setOutcome({error: error.message});
        }
        setBusy(false);
    };
    const ready = reason.trim() && !busy;
    return html`<button onClick=${() => dialog.current.showModal()}>${label}</button>
        <dialog ref=${dialog} aria-label=${title}><form method="dialog"
            onSubmit=${(event) => event.preventDefault()}><h2>${title}</h2><p>${meaning}</p>
        <label>Reason, for the audit log<input value=${reason} required maxlength="500"
            onInput=${(event) => setReason(event.target.value)} /></label>
        ${bounded && filter && html`<label>At most<input type="number" min="1" max="1000"
            value=${most} onInput=${(event) => {
                setMost(Number(event.target.value));
                setOutcome(null);  // another number has to be tried too
            }} /></label>`}
        ${outcome?.error && html`<p class="bad" role="alert">${outcome.error}</p>`}
        ${outcome?.text && html`<p role="status">${outcome.text}</p>`}<p class="row">
        ${tried && html`<button disabled=${!ready} onClick=${() => send(true)}>Try it first
            </button>`}
        <button class="danger" disabled=${!ready || (tried && !outcome?.dry)}
            onClick=${() => send(false)}>${title}</button>
        <button onClick=${() => dialog.current.close()}>Close</button></p></form></dialog>`;
}

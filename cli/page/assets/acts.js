// What changes something: a button that opens a form with a reason and, for what deletes or sends,
// a trial first and a bound. Shown only to those who may act.

import {useRef, useState} from './hooks.mjs';
import {act, ask} from './api.js';
import {html, plural, sinceTrial} from './base.js';

const picked = (answer) => plural(answer.picked, 'dead letter');

// Those that are sent, and those that the act leaves out.
const selected = (answer) => answer.picked + answer.exhausted + answer.behind + answer.uncertain;

// A log does not know from which partition of a batch a claim is, so one claim may have several
// entries.
const claimsIn = (answer) => answer.leases.length + new Set(answer.claims.map((one) =>
    JSON.stringify([one.ledger, one.generation, one.digest]))).size;

function redriven(answer, trial) {
    if (answer.failure) return `${answer.delivered} sent, then: ${answer.failure}`;
    const kept = [[answer.exhausted, 'tried too often'], [answer.behind, 'behind another one'],
        [answer.uncertain, 'perhaps sent before'], [answer.left, 'changed meanwhile']]
        .filter(([n]) => n > 0).map(([n, why]) => `${n} ${why}`);
    const rest = kept.length ? ` Left out: ${kept.join(', ')}.` : '';
    if (!trial) return `${picked(answer)} would be sent.${rest}`;
    const sent = answer.done || !answer.picked ? `${picked(answer)} sent.`
        : `${answer.delivered} of ${picked(answer)} sent.`;
    return sent + sinceTrial(selected(trial), selected(answer)) + rest;
}

// `tried`: with a dry run before it. `said`: the answer as a sentence; `trial` is the answer of the
// dry run, and undefined in that run itself.
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
        said: (answer, trial) => (trial
            ? `${answer.discarded} discarded.${sinceTrial(trial.picked, answer.discarded)}`
            : `${picked(answer)} would be discarded.`)},
    forget: {path: 'forget', title: 'Forget the key', tried: true,
        meaning: 'The next message with this key is applied again.',
        said: (answer) => (answer.done ? `${plural(answer.evicted, 'claim')} taken out.`
            : `${plural(claimsIn(answer), 'claim')} to take out.`)},
};

// The numbers of the dead letters of one cause, the newest first.
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
    const [outcome, setOutcome] = useState(null);  // of a trial with what it was asked for
    const [busy, setBusy] = useState(false);
    if (!session?.may_act) return null;
    const {path, title, meaning, tried, bounded, said} = acts[what];
    const send = async (dry) => {
        setBusy(true);
        try {
            // DANGER: send the trial's own numbers. Numbers that are selected again include letters
            // that came after the trial, which nobody has seen.
            const trial = !dry && outcome?.dry ? outcome : null;
            const asked = trial ? trial.asked : await valuesOf(values, filter, most);
            const body = {...asked, reason};
            if (tried) body.dry_run = dry;
            const answer = await act(path, body);
            setOutcome({text: said(answer, trial?.answer), dry, asked, answer});
        } catch (error) {
            setOutcome({error: error.message});
        }
        setBusy(false);
    };
    const ready = reason.trim() && !busy;
    const open = () => {
        setOutcome(null);  // an earlier trial may be of another cause
        dialog.current.showModal();
    };
    return html`<button onClick=${open}>${label}</button>
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

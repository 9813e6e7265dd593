// What every part of the page needs: the library bound once, and how values are written.

import {h} from './preact.mjs';
import htm from './htm.module.js';

export const html = htm.bind(h);

const whole = new Intl.NumberFormat('en');
const tenth = new Intl.NumberFormat('en', {maximumFractionDigits: 1});

export const count = (n) => whole.format(n);

export function rate(n) {
    if (n === null || n === undefined) return '–';
    return n >= 100 ? whole.format(Math.round(n)) : tenth.format(n);
}

export function bytes(n) {
    const units = ['B', 'kB', 'MB', 'GB', 'TB'];
    let at = 0;
    while (n >= 1000 && at < units.length - 1) {
        n /= 1000;
        ++at;
    }
    return `${tenth.format(n)} ${units[at]}`;
}

// 95 seconds to `1 min 35 s`: the two largest units, as a person would say it.
export function duration(ms) {
    const seconds = Math.round(ms / 1000);
    if (ms > 0 && ms < 1000) return 'under 1 s';
    if (seconds < 60) return `${seconds} s`;
    const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
    const first = units.findIndex(([size]) => seconds >= size);
    const [size, name] = units[first];
    const rest = Math.floor(seconds % size / (units[first + 1]?.[0] ?? 1));
    const more = rest ? ` ${rest} ${units[first + 1][1]}` : '';
    return `${Math.floor(seconds / size)} ${name}${more}`;
}

// PostgreSQL's `2026-11-25 09:00:00.1+00`, or milliseconds since 1970.
export function time(value) {
    if (typeof value === 'number') return new Date(value);
    if (!value) return null;
    let text = value.replace(' ', 'T').replace(/(\.\d{3})\d+/, '$1');
    if (/[+-]\d\d$/.test(text)) text += ':00';
    const date = new Date(text);
    return Number.isNaN(date.getTime()) ? null : date;
}

export function ago(value, now = Date.now()) {
    const date = time(value);
    if (!date) return '';
    const ms = now - date.getTime();
    return ms < 1500 ? 'now' : `${duration(ms)} ago`;
}

// The moment in full for people who compare it with logs, and how long ago.
export function When({at}) {
    const date = time(at);
    if (!date) return html`<span class="quiet">–</span>`;
    const text = date.toISOString().replace('T', ' ').slice(0, 19) + 'Z';
    return html`<time datetime=${date.toISOString()} title=${text}>${ago(at)}</time>`;
}

// A sentence in which what is in `backticks` is for a terminal.
export function Words({text}) {
    return text.split('`').map((part, at) => (at % 2
        ? html`<code class=${part.length < 40 ? 'command' : ''}>${part}</code>` : part));
}

// JSON with line breaks, token by token: parsed and written again, numbers and repeated names would
// change. Throws for what is not JSON.
export function indented(json) {
    JSON.parse(json);
    const tokens = json.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g);
    const opens = (token) => token === '{' || token === '[';
    const closes = (token) => token === '}' || token === ']';
    let text = '';
    let depth = 0;
    const line = () => `\n${'  '.repeat(depth)}`;
    tokens.forEach((token, at) => {
        if (closes(token) && !opens(tokens[at - 1])) {
            --depth;
            text += line();
        }
        text += token === ':' ? ': ' : token;
        if (opens(token) && !closes(tokens[at + 1])) ++depth;
        if (token === ',' || (opens(token) && !closes(tokens[at + 1]))) text += line();
    });
    return text;
}

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// How an act's dead letters differ from those of its trial; '' if they do not. A redrive also takes
// those that must be sent together with the tried ones, and these may have come meanwhile.
export function sinceTrial(tried, taken) {
    if (taken < tried) return ` ${plural(tried - taken, 'is', 'are')} no longer open.`;
    return taken > tried ? ` ${count(taken - tried)} of them came after the trial.` : '';
}

// The route is in the address's hash, so that each view has a link that can be sent to others.
export function link(path, values = {}) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) {
        if (value !== '' && value !== null && value !== undefined) query.set(name, value);
    }
    const text = query.toString();
    return `#/${path}${text ? `?${text}` : ''}`;
}

export function route(hash = location.hash) {
    const [path, query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
    return {path: path || 'overview', values: Object.fromEntries(new URLSearchParams(query))};
}

// Small parts of several views.

import {useState} from './hooks.mjs';
import {signedIn, signIn} from './api.js';
import {html, link, Words} from './base.js';

// `tone`: good, warn, bad or plain. A mark goes with the colour, for those who do not see it.
const marks = {good: '●', warn: '▲', bad: '■', plain: '○'};

export function Tag({tone = 'plain', children}) {
    return html`<span class=${`tag ${tone}`}><span aria-hidden="true">${marks[tone]}</span> ${
        children}</span>`;
}

export function Note({tone, title, children}) {
    return html`<section class=${`note ${tone}`}>
        <h2><span aria-hidden="true">${marks[tone]}</span> ${title}</h2>${children}</section>`;
}

// Something that needs somebody: advice.js makes them.
export function Item({item, view = item.view}) {
    return html`<${Note} tone=${item.tone} title=${item.title}>
        ${item.text && html`<p class="said">${item.text}</p>`}
        <p>${item.next && html`<strong>Next:</strong> <${Words} text=${item.next} /> `}${
            view && html`<a href=${link(...view)}>Show</a>`}</p>${item.runbook
            && html`<p class="quiet">Runbook: <code>${item.runbook}</code></p>`}</${Note}>`;
}

export function Empty({children}) {
    return html`<p class="empty">${children}</p>`;
}

// In the place of every view, where the port answers only those whom its configuration names.
export function SignIn() {
    const [text, setText] = useState('');
    const go = (event) => {
        event.preventDefault();
        signIn(text);
        location.reload();
    };
    return html`<h1>Sign in</h1><p>This port answers those whom its configuration names, in${' '}
        <code>admin.look</code> and <code>admin.operate</code>. The token is kept until this tab is
        closed.</p>${signedIn() && html`<p class="bad" role="alert">The token that was given is not
        known here.</p>`}<form class="row" onSubmit=${go}><label>Token <input type="password"
        value=${text} autocomplete="off" required onInput=${(event) =>
            setText(event.target.value)} /></label><button>Continue</button></form>`;
}

// What a question came to: nothing yet, an error with what is left of the last answer, or `show`.
export function Answered({answer, show}) {
    const {data, error, at} = answer;
    const title = data ? 'Not up to date' : 'No answer';
    const refused = error && html`<${Note} tone="bad" title=${title}>
        <p>${error.message}${data ? ` What is shown is from ${new Date(at).toLocaleTimeString()}.`
            : ''}</p></${Note}>`;
    if (!data) return refused || html`<p class="quiet" role="status">Loading …</p>`;
    return html`${refused}${(data.problems ?? []).map((problem) => html`
        <${Note} tone="bad" title=${`PostgreSQL server “${problem.database}” does not answer`}>
        <p><code>${problem.error}</code></p><p>Its topics are missing below. Workers wait for the
        server and continue by themselves.</p></${Note}>`)}${show(data)}`;
}

function sorted(rows, columns, order) {
    const column = columns.find((one) => one.name === order?.name);
    if (!column?.sort) return rows;
    const sign = order.down ? -1 : 1;
    return [...rows].sort((a, b) => {
        const [x, y] = [column.sort(a), column.sort(b)];
        return (x < y ? -1 : x > y ? 1 : 0) * sign;
    });
}

// `columns`: {name, label, cell(row), number, sort(row)}. On a narrow screen a row becomes a block
// with the label before each value; the roles keep it a table for screen readers.
export function Table({caption, columns, rows, keyOf, rowClass = () => ''}) {
    const [order, setOrder] = useState(null);
    const turn = (name) => setOrder({name, down: order?.name === name ? !order.down : true});
    const state = (name) => {
        if (order?.name !== name) return 'none';
        return order.down ? 'descending' : 'ascending';
    };
    const arrow = {none: '', descending: ' ↓', ascending: ' ↑'};
    const head = (column) => (column.sort
        ? html`<button class="sort" onClick=${() => turn(column.name)}>${column.label}<span
            aria-hidden="true">${arrow[state(column.name)]}</span></button>`
        : column.label);
    return html`<table role="table"><caption class="unseen">${caption}</caption>
        <thead role="rowgroup"><tr role="row">${columns.map((column) => html`
            <th role="columnheader" scope="col" class=${column.number ? 'number' : ''}
            aria-sort=${column.sort ? state(column.name) : undefined}>${head(column)}</th>`)}</tr>
        </thead><tbody role="rowgroup">${sorted(rows, columns, order).map((row) => html`
            <tr role="row" key=${keyOf(row)} class=${rowClass(row)}>${columns.map((column) => html`
            <td role="cell" data-label=${column.label} class=${column.number ? 'number' : ''}>${
                column.cell(row)}</td>`)}</tr>`)}</tbody></table>`;
}

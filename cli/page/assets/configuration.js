// The running configuration without its secrets, and where each value came from.

import {useState} from './hooks.mjs';
import {useAnswer} from './api.js';
import {Answered, Empty, Table} from './parts.js';
import {html} from './base.js';

function origin(option, file) {
    switch (option.source) {
    case 'environment': return html`<code>$${option.name}</code>, line ${option.line}`;
    case 'secret_file': return html`file <code>${option.name}</code>, line ${option.line}`;
    case 'default': return html`<span class="quiet">default</span>`;
    default: return html`<span class="quiet">${file}:${option.line}</span>`;
    }
}

// What became of the requests to reload the file; nothing where the process cannot.
function reloads(reload) {
    if (!reload) return null;
    const counts = `${reload.applied} applied, ${reload.unchanged} without a change, `
        + `${reload.refused} refused`;
    return html`<p>Reloads: ${counts}.${reload.under_way ? ' One is under way.' : ''}
        ${reload.refusal ? html` The last one was refused, and changed nothing:
            <code>${reload.refusal}</code>` : ''}</p>`;
}

export function Configuration() {
    const answer = useAnswer('configuration', {}, 0);
    const [text, setText] = useState('');
    const [defaults, setDefaults] = useState(false);
    const shown = (option) => (defaults || option.source !== 'default')
        && `${option.path} ${option.value}`.toLowerCase().includes(text.toLowerCase());
    const show = (data) => {
        const columns = [
            {name: 'path', label: 'Option', sort: (one) => one.path,
                cell: (one) => html`<code>${one.path}</code>`},
            {name: 'value', label: 'Value', cell: (one) => (one.secret
                ? html`<span class="quiet">not shown</span>`
                : html`<code class="key">${one.value}</code>`)},
            {name: 'source', label: 'From', sort: (one) => one.source,
                cell: (one) => origin(one, data.file.split('/').at(-1))},
        ];
        const rows = data.options.filter(shown);
        return html`<p>As the process works with it, from <code>${data.file}</code>.</p>
            ${reloads(data.reload)}
            <p class="row"><label>Filter <input type="search" value=${text}
                onInput=${(event) => setText(event.target.value)} /></label>
            <label><input type="checkbox" checked=${defaults}
                onChange=${(event) => setDefaults(event.target.checked)} /> defaults too</label></p>
            ${rows.length === 0 ? html`<${Empty}>No option matches.</${Empty}>`
                : html`<${Table} caption="Options" columns=${columns} rows=${rows}
                    keyOf=${(one) => one.path} />`}
            <p class="quiet">Secrets, headers, files of secrets, and most of librdkafka’s properties
            are not shown. Options of a topic that are not given have the
            defaults of <code>docs/configuration.md</code>.</p>`;
    };
    return html`<h1>Configuration</h1><${Answered} answer=${answer} show=${show} />`;
}

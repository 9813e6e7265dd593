// The page's frame: what is above every view, the address, and the keyboard.

import {render} from './preact.mjs';
import {useEffect, useRef, useState} from './hooks.mjs';
import {useAnswer} from './api.js';
import {Overview} from './overview.js';
import {Key} from './key.js';
import {Partitions} from './partitions.js';
import {Letters} from './letters.js';
import {Ledgers} from './ledgers.js';
import {Acts, Rebalances} from './history.js';
import {Configuration} from './configuration.js';
import {Empty, SignIn} from './parts.js';
import {html, link, route} from './base.js';

const views = {
    overview: ['Overview', Overview], key: ['Key search', Key],
    partitions: ['Partitions', Partitions], letters: ['Dead letters', Letters],
    ledgers: ['Ledgers', Ledgers], rebalances: ['Rebalances', Rebalances],
    acts: ['Acts', Acts], configuration: ['Configuration', Configuration],
};

function Search({values, box}) {
    const [key, setKey] = useState(values.key ?? '');
    const [tenant, setTenant] = useState(values.tenant ?? '');
    useEffect(() => setKey(values.key ?? ''), [values.key]);
    const go = (event) => {
        event.preventDefault();
        if (key.trim()) location.hash = link('key', {key: key.trim(), tenant: tenant.trim()});
    };
    return html`<form class="search" role="search" onSubmit=${go}>
        <input ref=${box} type="search" value=${key} placeholder="Find a key  ( / )"
            aria-label="Idempotency key" autocomplete="off" spellcheck="false"
            onInput=${(event) => setKey(event.target.value)} />
        <input class="tenant" value=${tenant} placeholder="tenant" autocomplete="off"
            aria-label="Tenant, if keys have one"
            onInput=${(event) => setTenant(event.target.value)} />
        <button>Search</button></form>`;
}

function App() {
    const [at, setAt] = useState(route());
    const box = useRef(null);
    const main = useRef(null);
    const caller = useAnswer('caller', {}, 60000);
    const session = caller.data;
    const group = useAnswer('session', {}, 60000).data?.group;
    useEffect(() => {
        const moved = () => {
            setAt(route());
            main.current.focus({preventScroll: true});
            scrollTo(0, 0);
        };
        const pressed = (event) => {
            const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
            if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
                event.preventDefault();
                box.current.focus();
                box.current.select();
            }
            if (event.key === 'Escape' && typing) event.target.blur();
        };
        addEventListener('hashchange', moved);
        addEventListener('keydown', pressed);
        return () => {
            removeEventListener('hashchange', moved);
            removeEventListener('keydown', pressed);
        };
    }, []);
    const [title, View] = views[at.path] ?? ['Not here', () => html`<h1>Not here</h1>
        <${Empty}>There is no such view. <a href=${link('overview')}>Overview</a></${Empty}>`];
    useEffect(() => {
        document.title = `${title} · ${group ?? 'Onceward'}`;
    }, [title, group]);
    return html`<a class="skip" href="#main" onClick=${(event) => {
        event.preventDefault();
        main.current.focus();
    }}>To the content</a>
        <header><div class="bar"><a class="brand" href=${link('overview')}>Onceward</a>
        ${group && html`<span class="group" title="consumer group">${group}</span>`}
        <${Search} values=${at.path === 'key' ? at.values : {}} box=${box} /></div>
        <nav aria-label="Views">${Object.entries(views).filter(([path]) => path !== 'key')
            .map(([path, [name]]) => html`<a href=${link(path)} aria-current=${
                path === at.path ? 'page' : undefined}>${name}</a>`)}</nav></header>
        <main id="main" tabindex="-1" ref=${main}>${caller.error?.status === 401
            ? html`<${SignIn} />`
            : html`<${View} key=${at.path} values=${at.values} session=${session} />`}</main>
        <footer class="quiet">Role: ${session?.role ?? '…'}${
            session?.who && html` (${session.who})`} · <a
            href="assets/licenses.txt">licences</a></footer>`;
}

const place = document.getElementById('app');
place.textContent = '';
render(html`<${App} />`, place);

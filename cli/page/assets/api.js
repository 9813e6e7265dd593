// The page's questions. One is repeated while the page is seen, and never asked twice at once.

import {useEffect, useRef, useState} from './hooks.mjs';

const patience = 15000;
const patienceWithActs = 60000;  // a redrive waits for Kafka
let token = sessionStorage.getItem('onceward-token') ?? '';

export class Refused extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

export const signedIn = () => token !== '';

export function signIn(text) {
    token = text;
    sessionStorage.setItem('onceward-token', text);
}

async function request(path, options = {}, longest = patience) {
    const headers = {...options.headers};
    if (token) headers.Authorization = `Bearer ${token}`;
    let answer;
    try {
        answer = await fetch(`api/${path}`,
            {...options, headers, signal: AbortSignal.timeout(longest)});
    } catch (error) {
        const late = error.name === 'TimeoutError';
        const open = longest === patience ? '' : ' The act may continue: Acts shows what was done.';
        throw new Refused(0, late ? `No answer within ${longest / 1000} s.${open}`
            : 'This process does not answer. It may have ended; another process of the group ' +
              'shows the same page.');
    }
    const json = await answer.json().catch(() => ({}));
    if (!answer.ok) {
        throw new Refused(answer.status,
            json.error ?? json.detail ?? json.title ?? `The answer was ${answer.status}.`);
    }
    return json;
}

export function ask(path, values = {}) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) {
        if (value !== null && value !== undefined) query.set(name, value);
    }
    const text = query.toString();
    return request(text ? `${path}?${text}` : path);
}

// What changes something. The header cannot be sent by a form of another site.
export function act(what, values) {
    return request(what, {
        method: 'POST',
        headers: {'Content-Type': 'application/json', 'Onceward-Act': '1'},
        body: JSON.stringify(values),
    }, patienceWithActs);
}

// {data, error, at}: the answer to a question, asked again every `every` milliseconds while the
// page is seen; 0: once.
export function useAnswer(path, values, every = 2000) {
    const [state, setState] = useState({data: null, error: null, at: 0});
    const key = JSON.stringify([path, values]);
    const shown = useRef(key);
    useEffect(() => {
        let ended = false;
        let timer = 0;
        let busy = false;
        if (shown.current !== key) setState({data: null, error: null, at: 0});
        shown.current = key;
        const look = async () => {
            if (busy || document.hidden || ended) return;
            clearTimeout(timer);
            // An answer without what a form acts on would take the form away, and what it says.
            if (document.querySelector('dialog[open]')) {
                timer = setTimeout(look, 500);
                return;
            }
            busy = true;
            try {
                const data = await ask(path, values);
                if (!ended) setState({data, error: null, at: Date.now()});
            } catch (error) {
                if (!ended) setState((old) => ({...old, error}));
            }
            busy = false;
            if (!ended && every) timer = setTimeout(look, every);
        };
        document.addEventListener('visibilitychange', look);
        look();
        return () => {
            ended = true;
            clearTimeout(timer);
            document.removeEventListener('visibilitychange', look);
        };
    }, [key]);
    return state;
}

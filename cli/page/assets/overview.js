// The first view: is all well, and if not, what comes next; then the topics.

import {useMemo, useRef} from './hooks.mjs';
import {useAnswer} from './api.js';
import {advice, headline, stuckPartitions, topicState} from './advice.js';
import {Chart, rates} from './chart.js';
import {Answered, Empty, Item, Table, Tag} from './parts.js';
import {count, duration, html, link, plural, rate, When} from './base.js';

const lagText = (topic) => (topic.lag_of === 0 && topic.partitions ? '–' : count(topic.lag));

// Only this process's own partitions say how old the oldest message is.
function behind(topic) {
    if (topic.lag_of === 0 && topic.partitions) return '–';
    if (!topic.lag) return '0 s';
    return topic.age_ms ? duration(topic.age_ms) : '–';
}

const outcome = (name, label) => ({name, label, number: true,
    sort: (topic) => topic.rate?.[name] ?? -1,
    cell: (topic) => html`<span title=${`${count(topic.totals[name])} in all`}>${
        topic.rate ? rate(topic.rate[name]) : '…'}</span>`});

const columns = [
    {name: 'topic', label: 'Topic', sort: (topic) => topic.topic,
        cell: (topic) => html`<a href=${link('partitions', {topic: topic.topic})}>${
            topic.topic}</a>`},
    {name: 'state', label: 'State', sort: (topic) => topicState(topic).text, cell: (topic) => {
        const {tone, text} = topicState(topic);
        return html`<${Tag} tone=${tone}>${text}</${Tag}>`;
    }},
    outcome('applied', 'Applied/s'), outcome('duplicates', 'Duplicates/s'),
    outcome('conflicts', 'Conflicts/s'), outcome('dead_lettered', 'Rejected/s'),
    {name: 'lag', label: 'Lag', number: true, sort: (topic) => topic.lag, cell: lagText},
    {name: 'age', label: 'Behind', number: true, sort: (topic) => topic.age_ms, cell: behind},
    {name: 'letters', label: 'Dead letters', number: true, sort: (topic) => topic.open_letters,
        cell: (topic) => (topic.open_letters
            ? html`<a href=${link('letters', {topic: topic.topic})}>${
                count(topic.open_letters)}</a>` : '0')},
    {name: 'partitions', label: 'Partitions', number: true, sort: (topic) => topic.partitions,
        cell: (topic) => count(topic.partitions)},
];

const rateSeries = [{label: 'applied', tone: '--good'}, {label: 'duplicates', tone: '--accent'},
    {label: 'conflicts', tone: '--warn'}, {label: 'rejected', tone: '--bad'}];
const lagSeries = [{label: 'lag', tone: '--accent'}];

function Charts({history}) {
    const data = useMemo(() => rates(history), [history]);
    const lag = useMemo(() => [data[0], data[5]], [data]);
    if (data[0].length < 2) {
        return html`<${Empty}>Charts begin half a minute after the process.</${Empty}>`;
    }
    return html`<div class="charts"><${Chart} title="Messages per second" series=${rateSeries}
        data=${data.slice(0, 5)} unit="/s" /><${Chart} title="Lag in messages" series=${lagSeries}
        data=${lag} /></div>`;
}

function Shown({data, partitions}) {
    const seen = useRef(new Map());
    // A paused topic stands still because somebody wants it.
    const paused = new Set(data.topics.filter((one) => one.paused).map((one) => one.topic));
    const stuck = stuckPartitions(partitions, seen.current)
        .filter((one) => !paused.has(one.topic));
    const topics = data.topics.map((topic) => ({...topic,
        stuck: stuck.filter((one) => one.topic === topic.topic).length}));
    const items = advice(data, partitions, stuck);
    const head = headline(items);
    const {process} = data;
    const workers = plural(process.workers.length, 'worker');
    return html`<h1 class=${`headline ${head.tone}`}><span role="status"><${Tag}
        tone=${head.tone}>${head.text}</${Tag}></span></h1>
        ${items.map((item) => html`<${Item} key=${item.title} item=${item} />`)}
        <section><h2>Topics</h2>
        ${topics.length ? html`<${Table} caption="Topics of the group" columns=${columns}
            rows=${topics} keyOf=${(topic) => topic.topic} />`
            : html`<${Empty}>The group reads no topic.</${Empty}>`}
        <p class="quiet">Rates, totals and dead letters are the whole group’s. Lag counts offsets up
        to the end of the log.</p></section>
        <section><h2>This process</h2>
        <p><code>${process.name}</code>, ${workers}, started <${When} at=${process.started} />.
        Its own last hour:</p>
        <${Charts} history=${data.history} /></section>`;
}

export function Overview() {
    const answer = useAnswer('overview', {});
    const partitions = useAnswer('partitions', {});
    return html`<${Answered} answer=${answer} show=${(data) => html`<${Shown} data=${data}
        partitions=${partitions.data?.partitions ?? []} />`} />`;
}

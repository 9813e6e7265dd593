// Who has which partition, where its fence is, and why one does not move.

import {useAnswer} from './api.js';
import {Act} from './acts.js';
import {haltedItems} from './advice.js';
import {Answered, Empty, Item, Table, Tag} from './parts.js';
import {count, duration, html, link, time, When} from './base.js';

function state(one) {
    if (one.retired) return ['plain', 'retired'];
    if (one.halted) return ['bad', `halted: ${one.halted.reason}`];
    if (one.stalled) return ['bad', 'stalled'];
    if (one.paused) return ['warn', 'paused'];
    if (one.awaits_schema) return ['warn', one.awaits_schema];
    if (one.mine) return one.phase === 'reading' ? ['good', 'reading'] : ['plain', one.phase];
    // Another process does not say how its partitions are: their fences do.
    const still = Date.now() - (time(one.moved_at)?.getTime() ?? 0);
    if (one.lag > 0 && still > 60000) return ['warn', `not moved for ${duration(still)}`];
    return ['good', one.lag > 0 ? 'behind' : 'up to date'];
}

const columns = [
    {name: 'topic', label: 'Topic', sort: (one) => one.topic, cell: (one) => one.topic},
    {name: 'partition', label: 'Partition', number: true, sort: (one) => one.partition,
        cell: (one) => one.partition},
    {name: 'state', label: 'State', sort: (one) => state(one)[1], cell: (one) => {
        const [tone, text] = state(one);
        return html`<${Tag} tone=${tone}>${text}</${Tag}>`;
    }},
    {name: 'owner', label: 'Owner', sort: (one) => one.owner, cell: (one) => html`<code>${
        one.owner || '–'}</code>${one.mine && html` <span class="quiet">this process</span>`}`},
    {name: 'lag', label: 'Lag', number: true, sort: (one) => one.lag ?? -1,
        cell: (one) => (one.lag === null ? '–' : count(one.lag))},
    {name: 'age', label: 'Behind', number: true, sort: (one) => one.age_ms ?? -1,
        cell: (one) => (!one.mine ? '–' : one.lag ? duration(one.age_ms) : '0 s')},
    {name: 'fence', label: 'Fence', number: true, sort: (one) => one.next_offset,
        cell: (one) => html`<code>${one.next_offset}</code>`},
    {name: 'moved', label: 'Moved', sort: (one) => one.moved_at,
        cell: (one) => html`<${When} at=${one.moved_at} />`},
    {name: 'taken', label: 'Taken', sort: (one) => one.taken_at,
        cell: (one) => html`<${When} at=${one.taken_at} /> <span class="quiet">(${
            one.epoch}×)</span>`},
];

function Halts({partitions}) {
    return haltedItems(partitions).map((item) => html`<${Item} key=${item.title} item=${item}
        view=${null} />`);
}

export function Partitions({values, session}) {
    const answer = useAnswer('partitions', {topic: values.topic});
    return html`<h1>Partitions${values.topic && ` of ${values.topic}`}</h1>
        ${values.topic && html`<p class="row"><a class="button" href=${link('partitions')}>All
            topics</a><${Act} session=${session} what="pause" label="Pause …"
            values=${{topic: values.topic}} /><${Act} session=${session} what="resume"
            label="Resume …" values=${{topic: values.topic}} /></p>`}
        <${Answered} answer=${answer} show=${(data) => (data.partitions.length === 0
            ? html`<${Empty}>No worker of the group has taken a partition yet.</${Empty}>`
            : html`<${Halts} partitions=${data.partitions} /><${Table} caption="Partitions"
                columns=${columns} rows=${data.partitions}
                keyOf=${(one) => `${one.database}/${one.topic}/${one.partition}`} />
            <p class="quiet">Halts are known of this process’s partitions alone. A partition of
            another process shows when its fence last moved; that process’s page has the reason.
            </p>`)} />`;
}

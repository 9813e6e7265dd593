// Lines over time, by uPlot, in the colours of the page. What is drawn is also in the tables.

import {useEffect, useRef} from './hooks.mjs';
import {html, rate} from './base.js';

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function options(series, width, height, unit) {
    const axis = {stroke: colour('--quiet'), grid: {stroke: colour('--line'), width: 1},
        ticks: {show: false}, font: '11px system-ui'};
    const clock = (at, digits = 8) => new Date(at * 1000).toTimeString().slice(0, digits);
    // With seconds where two marks may be in one minute.
    const marks = (ticks) => ticks.map((at) => clock(at, ticks[1] - ticks[0] < 60 ? 8 : 5));
    return {
        width, height, legend: {show: true, live: true}, cursor: {points: {size: 6}},
        scales: {y: {range: (_, low, high) => [0, Math.max(high * 1.1, 1)]}},
        axes: [{...axis, values: (_, ticks) => marks(ticks), space: 70, size: 28},
            {...axis, size: 56, values: (_, ticks) => ticks.map((tick) => rate(tick))}],
        series: [{label: 'at', value: (_, at) => (at ? clock(at) : '–')},
            ...series.map(({label, tone}) => ({label, stroke: colour(tone), width: 1.5,
                points: {show: false}, value: (_, n) => (n === null ? '–' : rate(n) + unit)}))],
    };
}

// The legend has the last values unless the pointer is on a time.
function showLast(plot) {
    const {idx} = plot.cursor;
    if (idx === null || idx === undefined) plot.setLegend({idx: plot.data[0].length - 1});
}

// `data`: the times, then the values of each series.
export function Chart({title, series, data, unit = '', height = 150}) {
    const place = useRef(null);
    const plot = useRef(null);
    useEffect(() => {
        const element = place.current;
        const draw = () => {
            plot.current?.destroy();
            plot.current = new uPlot(options(series, element.clientWidth, height, unit), data,
                element);
        };
        draw();
        const dark = matchMedia('(prefers-color-scheme: dark)');
        const resized = new ResizeObserver(() => {
            plot.current.setSize({width: element.clientWidth, height});
            showLast(plot.current);
        });
        resized.observe(element);
        dark.addEventListener('change', draw);
        return () => {
            resized.disconnect();
            dark.removeEventListener('change', draw);
            plot.current.destroy();
            plot.current = null;
        };
    }, []);
    useEffect(() => {
        plot.current.setData(data);
        showLast(plot.current);
    }, [data]);
    return html`<figure><figcaption>${title}</figcaption><div ref=${place}></div></figure>`;
}

// From totals at times to rates between them.
export function rates(history) {
    const points = history.slice(1).map((now, at) => {
        const before = history[at];
        const seconds = Math.max(now[0] - before[0], 1);
        return [now[0], ...[1, 2, 3, 4].map((n) => Math.max(now[n] - before[n], 0) / seconds),
            now[6]];
    });
    return [0, 1, 2, 3, 4, 5].map((column) => points.map((point) => point[column]));
}

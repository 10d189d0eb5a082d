
(() => {
  "use strict";
  const place = document.getElementById("chart");
  const data = document.getElementById("chart-data");
  if (place && data) drawCharts(place, JSON.parse(data.textContent));
  for (const button of document.querySelectorAll("button[data-copy]")) offerCopy(button);
  addEventListener("beforeprint", () => { for (const details of document.querySelectorAll("details")) details.open = true; });

  function drawCharts(place, {bin_s, seconds, series}) {
    if (!seconds.length) return;
    const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
    const shares = series.map(({checked, lossy}) => checked.map((n, at) => n ? 100 * lossy[at] / n : null));
    const sums = seconds.map((_, at) => series.reduce((sum, {checked}) => sum + checked[at], 0));
    const most = Math.max(...shares.flat().filter(share => share !== null), 0);
    let charts = [];

    const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const percent = (_, value) => value === null || value === undefined ? "–" : value.toFixed(value && value < 1 ? 2 : 1) + " %";
    const whole = (_, value) => value === null || value === undefined ? "–" : value.toLocaleString("en");
    const axis = {stroke: () => colour("--quiet"), grid: {stroke: () => colour("--faint"), width: 1}, ticks: {stroke: () => colour("--rule"), width: 1, size: 4}, font: "12px system-ui, sans-serif", space: 28};
    const time = {...axis, size: 30, space: 60, values: (_, ticks) => ticks.map(tick => tick + " s")};
    const clock = {label: "time", value: (_, second) => second === null || second === undefined ? "–" : second + " s"};

    const kinds = [
      {
        title: "Lossy share of checked recalls",
        height: 210,
        rows: shares,
        range: [0, most ? Math.min(most * 1.1, 100) : 1],
        values: (_, ticks) => ticks.map(tick => tick + " %"),
        lines: series.map(({name}, at) => ({
          label: name, value: percent, width: 2, spanGaps: false,
          stroke: () => colour(`--series-${at % 8 + 1}`), dash: dashes[Math.floor(at / 8 + at) % dashes.length],
          points: {show: seconds.length < 40, size: 5, fill: () => colour(`--series-${at % 8 + 1}`)},
        })),
      },
      {
        title: `Checked recalls in each ${bin_s} s, all scenarios`,
        height: 120,
        rows: [sums],
        range: [0, Math.max(...sums, 1) * 1.1],
        values: (_, ticks) => ticks.map(tick => tick.toLocaleString("en")),
        lines: [{label: "checked recalls", value: whole, width: 1, stroke: () => colour("--quiet"), fill: () => colour("--faint"), paths: uPlot.paths.bars({size: [1, Infinity], align: 1}), points: {show: false}}],
      },
    ];

    function draw() {
      for (const chart of charts) chart.destroy();
      place.replaceChildren();
      charts = kinds.map(kind => {
        const frame = document.createElement("div");
        const title = document.createElement("h3");
        title.textContent = kind.title;
        frame.append(title);
        place.append(frame);
        return new uPlot({
          width: place.clientWidth, height: kind.height,
          padding: [8, 24, 0, 0],
          cursor: {sync: {key: "time"}, drag: {x: false, y: false}},
          scales: {x: {time: false, range: [0, Math.max(seconds[seconds.length - 1] + bin_s, 1)]}, y: {range: kind.range}},
          axes: [time, {...axis, size: 56, values: kind.values}],
          series: [clock, ...kind.lines],
        }, [seconds, ...kind.rows], frame);
      });
    }

    draw();
    new ResizeObserver(() => {
      for (const [at, chart] of charts.entries()) {
        if (chart.width !== place.clientWidth) chart.setSize({width: place.clientWidth, height: kinds[at].height});
      }
    }).observe(place);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", draw);
  }

  function offerCopy(button) {
    if (!navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
})();

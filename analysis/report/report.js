
(() => {
  "use strict";
  const read = id => { const found = document.getElementById(id); return found && JSON.parse(found.textContent); };
  const over_time = read("chart-data"), ages = read("age-data");
  const redraws = [];
  const chosen = {scenario: "", class: ""};
  if (over_time) redraws.push(overTime(document.getElementById("chart"), over_time));
  if (ages) redraws.push(byAge(document.getElementById("age-chart"), ages));
  for (const form of document.querySelectorAll("form.filters")) offerFilters(form);
  redraw();
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", redraw);
  for (const button of document.querySelectorAll("button[data-copy]")) offerCopy(button);
  addEventListener("beforeprint", () => { for (const details of document.querySelectorAll("details")) details.open = true; });

  function redraw() { for (const draw of redraws) draw(); }
  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function percent(_, value) { return value === null || value === undefined ? "–" : value.toFixed(value && value < 1 ? 2 : 1) + " %"; }
  function whole(_, value) { return value === null || value === undefined ? "–" : value.toLocaleString("en"); }
  function axis(more) { return {stroke: () => colour("--quiet"), grid: {stroke: () => colour("--faint"), width: 1}, ticks: {stroke: () => colour("--rule"), width: 1, size: 4}, font: "12px system-ui, sans-serif", space: 28, ...more}; }
  function top(shares) { const most = Math.max(...shares.flat().filter(share => share !== null), 0); return most ? Math.min(most * 1.1, 100) : 1; }
  function line(name, at, points) {
    const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
    const stroke = () => colour(`--series-${at % 8 + 1}`);
    return {label: name, value: percent, width: 2, spanGaps: false, stroke, dash: dashes[Math.floor(at / 8 + at) % dashes.length], points: {show: points, size: 5, fill: stroke}};
  }

  // A place that holds charts: draws them anew, and keeps them as wide as it is.
  function charts(place, kinds) {
    let drawn = [], heights = [];
    new ResizeObserver(() => {
      for (const [at, chart] of drawn.entries()) {
        if (chart.width !== place.clientWidth) chart.setSize({width: place.clientWidth, height: heights[at]});
      }
    }).observe(place);
    return () => {
      for (const chart of drawn) chart.destroy();
      place.replaceChildren();
      const made = kinds();
      heights = made.map(kind => kind.height);
      drawn = made.map(({title, height, rows, ...options}) => {
        const frame = document.createElement("div");
        const heading = document.createElement("h3");
        heading.textContent = title;
        frame.append(heading);
        place.append(frame);
        return new uPlot({width: place.clientWidth, height, padding: [8, 24, 0, 0], ...options}, rows, frame);
      });
    };
  }

  function overTime(place, {bin_s, seconds, series, faults}) {
    if (!seconds.length) return () => {};
    const time = axis({size: 30, space: 60, values: (_, ticks) => ticks.map(tick => tick + " s")});
    const clock = {label: "time", value: (_, second) => second === null || second === undefined ? "–" : second + " s"};
    return charts(place, () => {
      const lines = series.map((one, at) => ({...one, at})).filter(({at}) => chosen.scenario === "" || at === Number(chosen.scenario));
      const shares = lines.map(({checked, lossy}) => checked.map((n, at) => n ? 100 * lossy[at] / n : null));
      const sums = seconds.map((_, at) => lines.reduce((sum, {checked}) => sum + checked[at], 0));
      const common = {
        cursor: {sync: {key: "time"}, drag: {x: false, y: false}},
      };
      const marked = named => ({hooks: {drawClear: [chart => bands(chart, faults, named)]}});
      const scale = range => ({x: {time: false, range: [0, Math.max(seconds[seconds.length - 1] + bin_s, 1)]}, y: {range}});
      return [
        {
          ...common, ...marked(true), title: "Lossy share of checked recalls" + (faults.length ? "; hatched: faults" : ""), height: 210, rows: [seconds, ...shares], scales: scale([0, top(shares)]),
          axes: [time, axis({size: 56, values: (_, ticks) => ticks.map(tick => tick + " %")})],
          series: [clock, ...lines.map(({name, at}) => line(name, at, seconds.length < 40))],
        },
        {
          ...common, ...marked(false), title: `Checked recalls in each ${bin_s} s`, height: 120, rows: [seconds, sums], scales: scale([0, Math.max(...sums, 1) * 1.1]),
          axes: [time, axis({size: 56, values: (_, ticks) => ticks.map(tick => tick.toLocaleString("en"))})],
          series: [clock, {label: "checked recalls", value: whole, width: 1, stroke: () => colour("--quiet"), fill: () => colour("--faint"), paths: uPlot.paths.bars({size: [1, Infinity], align: 1}), points: {show: false}}],
        },
      ];
    });
  }

  // A band for every fault: hatched, so that it shows without colour, and named where there is room.
  function bands(chart, faults, named) {
    const {ctx, bbox} = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const {name, begin, end} of faults) {
      const left = chart.valToPos(begin, "x", true), right = end === null ? bbox.left + bbox.width : chart.valToPos(end, "x", true);
      const width = Math.max(right - left, 2 * devicePixelRatio);
      ctx.fillStyle = colour("--odd-ground");
      ctx.fillRect(left, bbox.top, width, bbox.height);
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, bbox.top, width, bbox.height);
      ctx.clip();
      ctx.strokeStyle = colour("--odd");
      ctx.globalAlpha = 0.35;
      ctx.beginPath();
      for (let x = left - bbox.height; x < left + width; x += 8 * devicePixelRatio) {
        ctx.moveTo(x, bbox.top + bbox.height);
        ctx.lineTo(x + bbox.height, bbox.top);
      }
      ctx.stroke();
      ctx.restore();
      ctx.fillStyle = colour("--odd");
      ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
      ctx.textBaseline = "top";
      if (named) ctx.fillText(name, left + 4 * devicePixelRatio, bbox.top + 3 * devicePixelRatio);
    }
    ctx.restore();
  }

  function byAge(place, {bins, series}) {
    const kins = [["same", "read by the instance that wrote"], ["other", "read by another instance"], ["unknown", "instances unknown"]];
    const sum = (those, name, at) => those.reduce((total, one) => total + one[name][at], 0);
    const counted = (those, at) => sum(those, "pairs", at);
    return charts(place, () => {
      const shown = series.filter(({scenario}) => chosen.scenario === "" || scenario === Number(chosen.scenario));
      const used = bins.map((_, at) => at).filter(at => counted(shown, at));
      if (!used.length) return [];
      const first = used[0], last = used[used.length - 1];
      const x = bins.map((_, at) => at).slice(first, last + 1);
      const lines = kins.map(([kin, name], at) => ({name, at, those: shown.filter(one => one.kin === kin)})).filter(({those}) => x.some(bin => counted(those, bin)));
      const shares = lines.map(({those}) => x.map(bin => counted(those, bin) ? 100 * sum(those, "missing", bin) / counted(those, bin) : null));
      const age = {label: "age from", value: (_, bin) => bin === null || bin === undefined ? "–" : bins[bin] || "–"};
      return [{
        title: "Missing share of owed messages by age since acknowledgement", height: 210, rows: [x, ...shares],
        scales: {x: {time: false, range: [first - 0.3, last + 0.3]}, y: {range: [0, top(shares)]}},
        axes: [
          axis({size: 30, space: 50, incrs: [1, 2, 3], values: (_, ticks) => ticks.map(tick => Number.isInteger(tick) && bins[tick] || "")}),
          axis({size: 56, values: (_, ticks) => ticks.map(tick => tick + " %")}),
        ],
        cursor: {drag: {x: false, y: false}},
        series: [age, ...lines.map(({name, at}) => line(name, at, true))],
      }];
    });
  }

  function offerFilters(form) {
    const told = form.querySelector("output");
    form.hidden = false;
    form.addEventListener("submit", event => event.preventDefault());
    const choices = {scenario: document.getElementById("filter-scenario"), class: document.getElementById("filter-class")};
    // report.html?scenario=two-devices&class=missing opens filtered.
    for (const [name, value] of new URLSearchParams(location.search)) {
      const option = choices[name] && [...choices[name].options].find(option => option.text === value);
      if (option) option.selected = true;
    }
    form.addEventListener("change", filter);
    filter();

    function filter() {
      for (const name in choices) chosen[name] = choices[name].value;
      for (const element of document.querySelectorAll("[data-scenario], [data-class], [data-classes]")) element.hidden = !fits(element.dataset);
      const talks = [...document.querySelectorAll("article.talk")];
      told.textContent = chosen.scenario === "" && chosen.class === "" ? "" : `${talks.filter(talk => !talk.hidden).length} of ${talks.length} conversations shown`;
      redraw();
    }

    function fits({scenario, classes, class: one}) {
      if (chosen.scenario !== "" && scenario !== undefined && scenario !== chosen.scenario) return false;
      const of = classes === undefined ? one === undefined ? null : [one] : classes.split("|");
      return chosen.class === "" || of === null || of.includes(chosen.class);
    }
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

// Jobs over nodes and time, with utilisation and queue length beneath on the same axis.

const CHART = 64; // height of each curve beneath, in CSS pixels
const AXIS = 22;
const GAP = 12;

// Colours of pixels: each has that of the job that covers most of it, as strongly as it is covered.
const rasterOf = (policy, view, width, height, colourOf, page) => {
  const cover = new Float32Array(width * height);
  const most = new Float32Array(width * height);
  const who = new Int32Array(width * height).fill(-1);
  const perTime = width / (view.t1 - view.t0);
  const perNode = height / (view.n1 - view.n0);
  eachBetween(policy, view.t0, view.t1, (job) => {
    let left = Math.max(0, (policy.start[job] - view.t0) * perTime);
    const right = Math.min(width, (policy.end[job] - view.t0) * perTime);
    if (right - left > 5) left += 1; // a seam between jobs, where there is room for one
    const x0 = Math.floor(left);
    const x1 = Math.min(width, Math.max(x0 + 1, Math.ceil(right)));
    for (let k = policy.pointer[job]; k < policy.pointer[job + 1]; k++) {
      const first = policy.range_first[k];
      let top = Math.max(0, (first - view.n0) * perNode);
      const bottom = Math.min(height, (first + policy.range_length[k] - view.n0) * perNode);
      if (bottom <= top) continue;
      if (bottom - top > 5) top += 1;
      for (let y = Math.floor(top); y < bottom; y++) {
        const down = Math.min(bottom, y + 1) - Math.max(top, y);
        for (let x = x0; x < x1; x++) {
          const share = down * Math.max(0, Math.min(right, x + 1) - Math.max(left, x));
          const at = y * width + x;
          cover[at] += share;
          if (share >= most[at]) { most[at] = share; who[at] = job; }
        }
      }
    }
  });
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const blank = (255 << 24) | (page[2] << 16) | (page[1] << 8) | page[0];
  for (let i = 0; i < pixels.length; i++) {
    if (who[i] < 0) { pixels[i] = blank; continue; }
    const share = Math.min(1, cover[i]);
    const [r, g, b] = colourOf(who[i]);
    pixels[i] = (255 << 24)
      | ((page[2] + (b - page[2]) * share) << 16)
      | ((page[1] + (g - page[1]) * share) << 8)
      | (page[0] + (r - page[0]) * share);
  }
  return image;
};

// Summed weighted time until t since the times of an ascending array.
const timeSince = (times, weights) => {
  const count = new Float64Array(times.length + 1);
  const moment = new Float64Array(times.length + 1);
  for (let i = 0; i < times.length; i++) {
    const weight = weights ? weights[i] : 1;
    count[i + 1] = count[i] + weight;
    moment[i + 1] = moment[i] + weight * times[i];
  }
  return (t) => {
    const k = countUpTo(times, t);
    return count[k] * t - moment[k];
  };
};

// Functions of two times: the mean number of busy nodes, and of waiting jobs, between them.
const curvesOf = (common, policy) => {
  const sizes = (order) => Float64Array.from(order, (job) => nodesHeld(policy, job));
  const byEnd = Uint32Array.from(policy.byStart).sort((a, b) => policy.end[a] - policy.end[b]);
  const began = timeSince(policy.starts, sizes(policy.byStart));
  const ended = timeSince(Float64Array.from(byEnd, (job) => policy.end[job]), sizes(byEnd));
  const came = timeSince(common.submit);
  const left = timeSince(policy.starts);
  const mean = (more, less) => (a, b) => (more(b) - more(a) - less(b) + less(a)) / (b - a);
  return { busy: mean(began, ended), queue: mean(came, left) };
};

// The longest queue between two times: it is longest when a job has just come.
const longestQueue = (submits, starts, from, to) => {
  let came = countUpTo(submits, from);
  let left = countUpTo(starts, from);
  let most = came - left;
  while (came < submits.length && submits[came] <= to) {
    const now = submits[came];
    while (submits[came] === now) came += 1;
    while (starts[left] <= now) left += 1;
    most = Math.max(most, came - left);
  }
  return most;
};

const nodesHeld = (policy, job) => {
  let nodes = 0;
  for (let k = policy.pointer[job]; k < policy.pointer[job + 1]; k++) nodes += policy.range_length[k];
  return nodes;
};

const makeGantt = (root, common, state) => {
  const canvas = root.querySelector(".views-gantt");
  const caption = root.querySelector(".views-gantt-caption");
  const whole0 = () => ({ t0: 0, t1: state.lastEnd, n0: 0, n1: common.nodes });
  let view = whole0();
  let waiting = false;
  let raster = {};

  const area = () => {
    const width = canvas.clientWidth;
    const left = 46;
    const height = canvas.clientHeight - AXIS - 2 * (CHART + GAP);
    return { left, width: Math.max(1, width - left - 2), height };
  };

  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  const colourer = (page) => {
    const near = state.near();
    if (state.job < 0) return jobColour;
    const dim = new Map(JOBS.map((colour) => [colour, mix(page.page, colour, DIM)]));
    return (job) => {
      if (job === state.job) return page.ink;
      return near.has(job) ? neighbourColour(page, near.get(job)) : dim.get(jobColour(job));
    };
  };

  const draw = () => {
    const policy = state.policy;
    const scale = Math.min(2, devicePixelRatio || 1);
    const page = pageColours(root);
    const { left, width, height } = area();
    canvas.width = Math.round(canvas.clientWidth * scale);
    canvas.height = Math.round(canvas.clientHeight * scale);
    const pen = canvas.getContext("2d");
    pen.fillStyle = css(page.page);
    pen.fillRect(0, 0, canvas.width, canvas.height);
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    // a slider that moves changes no pixel of it
    const shown = [policy.policy, ...Object.values(view), w, h, page.page, state.job, ...state.near().keys()];
    if (raster.key !== shown.join()) {
      raster = { key: shown.join(), image: rasterOf(policy, view, w, h, colourer(page), page.page) };
    }
    pen.putImageData(raster.image, Math.round(left * scale), 0);
    pen.scale(scale, scale);
    pen.font = "12px system-ui, sans-serif";
    frame(pen, page, left, 0, width, height);
    chosenMarks(pen, page, left, width, height);
    nodeMarks(pen, page, left, height);
    snapshotMarks(pen, page, left, width, height);
    const curves = policy.curves ??= curvesOf(common, policy);
    const columns = Math.min(w, 1200);
    const step = (view.t1 - view.t0) / columns;
    const values = (mean) => Float64Array.from({ length: columns }, (_, i) =>
      mean(view.t0 + i * step, view.t0 + (i + 1) * step));
    const busy = values(curves.busy).map((nodes) => nodes / common.nodes);
    const queue = values(curves.queue);
    const colour = state.colour;
    const low = height + AXIS;
    const most = queue.reduce((a, b) => Math.max(a, b), 0);
    curve(pen, page, colour, left, low, width, busy, 1, "Nodes in use", "100\u00a0%");
    curve(pen, page, colour, left, low + CHART + GAP, width, queue, Math.max(1, most),
      "Jobs waiting", most < 10 ? most.toFixed(1) : whole(most));
    timeAxis(pen, page, left, width, height);
    showCaption(policy, curves);
  };

  const frame = (pen, page, x, y, width, height) => {
    pen.strokeStyle = css(page.line);
    pen.lineWidth = 1;
    pen.strokeRect(x - 0.5, y + 0.5, width + 1, height - 1);
  };

  // The chosen job and those that slow it, however small they are; a mark above shows when it ran.
  const chosenMarks = (pen, page, left, width, height) => {
    if (state.job < 0) return;
    const { start, end, pointer, range_first: first, range_length: length } = state.policy;
    const perTime = width / (view.t1 - view.t0);
    const perNode = height / (view.n1 - view.n0);
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, width, height);
    pen.clip();
    for (const [job, part] of [...state.near(), [state.job, 0]]) {
      if (!(end[job] > view.t0 && start[job] < view.t1)) continue;
      pen.fillStyle = css(job === state.job ? page.ink : neighbourColour(page, part));
      const x = left + (start[job] - view.t0) * perTime;
      const w = Math.max(3, (end[job] - start[job]) * perTime);
      for (let k = pointer[job]; k < pointer[job + 1]; k++) {
        pen.fillRect(x, (first[k] - view.n0) * perNode, w, Math.max(2, length[k] * perNode - 0.5));
      }
      if (job !== state.job) continue;
      pen.beginPath();
      pen.moveTo(x + w / 2 - 6, 0);
      pen.lineTo(x + w / 2 + 6, 0);
      pen.lineTo(x + w / 2, 9);
      pen.fill();
    }
    pen.restore();
  };

  const nodeMarks = (pen, page, left, height) => {
    pen.fillStyle = css(page.soft);
    pen.textAlign = "right";
    const step = Math.max(1, niceStep((view.n1 - view.n0) / (height / 40)));
    for (let node = Math.ceil(view.n0 / step) * step; node < view.n1; node += step) {
      const y = (node - view.n0) / (view.n1 - view.n0) * height;
      pen.textBaseline = y < 8 ? "top" : "middle";
      pen.fillText(String(Math.round(node)), left - 6, y);
    }
    pen.textBaseline = "alphabetic";
  };

  // Instants whose jobs were sent: a mark where they are of this schedule.
  const snapshotMarks = (pen, page, left, width, height) => {
    if (!state.policy.same) return;
    state.policy.snapshots.forEach((snapshot, index) => {
      const x = left + (snapshot.time / common.unit_s - view.t0) / (view.t1 - view.t0) * width;
      if (snapshot.time === null || x < left || x > left + width) return;
      pen.fillStyle = css(page.ink);
      pen.globalAlpha = index === state.snapshot ? 1 : 0.45;
      pen.fillRect(x - 0.5, 0, 1, index === state.snapshot ? height : 7);
      pen.globalAlpha = 1;
    });
  };

  const timeAxis = (pen, page, left, width, height) => {
    const most = Math.max(2, Math.floor(width / 64));
    const unit = common.unit_s;
    const { unit: name, marks } = timeMarks(view.t0 * unit, view.t1 * unit, most);
    pen.fillStyle = css(page.soft);
    pen.strokeStyle = css(page.line);
    for (const [time, label] of marks) {
      const x = left + (time / unit - view.t0) / (view.t1 - view.t0) * width;
      pen.fillRect(Math.round(x), height, 1, 4);
      const half = pen.measureText(`${label} ${name}`).width / 2;
      pen.textAlign = x - half < left ? "left" : x + half > left + width ? "right" : "center";
      pen.fillText(`${label} ${name}`, x, height + 17);
    }
  };

  const curve = (pen, page, colour, left, top, width, values, most, title, label) => {
    frame(pen, page, left, top, width, CHART);
    pen.beginPath();
    const y = (value) => top + CHART - Math.min(1, Math.max(0, value / most)) * (CHART - 16);
    values.forEach((value, i) => {
      pen.lineTo(left + i / values.length * width, y(value));
      pen.lineTo(left + (i + 1) / values.length * width, y(value));
    });
    pen.strokeStyle = css(colour);
    pen.lineWidth = 1.4;
    pen.stroke();
    pen.lineTo(left + width, top + CHART);
    pen.lineTo(left, top + CHART);
    pen.globalAlpha = 0.2;
    pen.fillStyle = css(colour);
    pen.fill();
    pen.globalAlpha = 1;
    pen.fillStyle = css(page.ink);
    pen.textAlign = "left";
    pen.fillText(title, left + 6, top + 13);
    pen.fillStyle = css(page.soft);
    pen.textAlign = "right";
    pen.fillText(label, left - 6, top + 18);
    pen.fillText("0", left - 6, top + CHART);
  };

  const showCaption = (policy, curves) => {
    let jobs = 0;
    eachBetween(policy, view.t0, view.t1, () => { jobs += 1; });
    const span = [view.t0, view.t1].map((t) => duration(t * common.unit_s));
    const nodes = view.n0 > 0 || view.n1 < common.nodes
      ? ` (nodes ${whole(view.n0)} to ${whole(view.n1 - 1)} are shown)` : "";
    const longest = longestQueue(common.submit, policy.starts, view.t0, view.t1);
    caption.textContent = `${policy.policy}, ${span[0]} to ${span[1]}: ${several(jobs, "job")} ran${nodes}; `
      + `${percent(curves.busy(view.t0, view.t1) / common.nodes)} of the nodes were in use; `
      + `${curves.queue(view.t0, view.t1).toFixed(1)} jobs waited on average, at most ${whole(longest)}.`;
  };

  // Keeps a window of at least `least` inside 0 to `end`.
  const inside = (from, to, end, least) => {
    const span = Math.min(end, Math.max(least, to - from));
    const first = Math.min(Math.max(0, (from + to - span) / 2), end - span);
    return [first, first + span];
  };
  const look = (next) => {
    const [t0, t1] = inside(next.t0, next.t1, state.lastEnd, Math.min(state.lastEnd, 20));
    const [n0, n1] = inside(next.n0, next.n1, common.nodes, Math.min(common.nodes, 4));
    view = { t0, t1, n0, n1 };
    redraw();
  };
  // Larger by a factor about a place (0 to 1) of the view.
  const zoomTime = (factor, at = 0.5) => {
    const span = (view.t1 - view.t0) / factor;
    const middle = view.t0 + at * (view.t1 - view.t0);
    look({ ...view, t0: middle - at * span, t1: middle + (1 - at) * span });
  };
  const zoomNodes = (factor, at = 0.5) => {
    const span = (view.n1 - view.n0) / factor;
    const middle = view.n0 + at * (view.n1 - view.n0);
    look({ ...view, n0: middle - at * span, n1: middle + (1 - at) * span });
  };
  // By shares of the view.
  const pan = (time, nodes) => {
    const [dt, dn] = [time * (view.t1 - view.t0), nodes * (view.n1 - view.n0)];
    look({ t0: view.t0 + dt, t1: view.t1 + dt, n0: view.n0 + dn, n1: view.n1 + dn });
  };
  const reset = () => look(whole0());

  const jobUnder = (x, y) => {
    const { left, width, height } = area();
    if (x < left || y > height) return -1;
    const per = (view.t1 - view.t0) / width;
    const time = view.t0 + (x - left) * per;
    const node = Math.floor(view.n0 + y / height * (view.n1 - view.n0));
    let found = -1;
    let nearest = 3 * per; // narrow jobs can be hit too
    eachBetween(state.policy, time - nearest, time + nearest, (job) => {
      const off = Math.max(0, state.policy.start[job] - time, time - state.policy.end[job]);
      if (off >= nearest) return;
      for (let k = state.policy.pointer[job]; k < state.policy.pointer[job + 1]; k++) {
        const first = state.policy.range_first[k];
        if (node >= first && node < first + state.policy.range_length[k]) {
          found = job;
          nearest = off;
        }
      }
    });
    return found;
  };

  // The next or the previous job to start among those that are shown.
  const step = (by) => {
    const shown = [];
    eachBetween(state.policy, view.t0, view.t1, (job) => shown.push(job));
    if (!shown.length) return;
    const at = shown.indexOf(state.job);
    const next = at < 0 ? (by > 0 ? 0 : shown.length - 1) : (at + by + shown.length) % shown.length;
    state.pick(shown[next]);
  };

  // Brings a job into view.
  const show = (job) => {
    const { start, end } = state.policy;
    if (Number.isNaN(start[job])) return;
    if (start[job] < view.t1 && end[job] > view.t0) return;
    const span = view.t1 - view.t0;
    const middle = (start[job] + end[job]) / 2;
    look({ ...view, t0: middle - span / 2, t1: middle + span / 2 });
  };

  const keys = {
    "+": () => zoomTime(1.5), "=": () => zoomTime(1.5), "-": () => zoomTime(1 / 1.5),
    ArrowLeft: () => pan(-0.2, 0), ArrowRight: () => pan(0.2, 0),
    ArrowUp: () => pan(0, -0.2), ArrowDown: () => pan(0, 0.2),
    PageUp: () => zoomNodes(1.5), PageDown: () => zoomNodes(1 / 1.5),
    0: reset, Home: reset, n: () => step(1), p: () => step(-1),
  };
  onKeys(canvas, keys);
  handle(canvas, {
    tap: (x, y) => state.pick(jobUnder(x, y)),
    drag: (dx, dy) => pan(-dx / area().width, -dy / area().height),
    zoom: (factor, x, y, nodes) => (nodes
      ? zoomNodes(factor, Math.min(1, y / area().height))
      : zoomTime(factor, Math.min(1, Math.max(0, (x - area().left) / area().width)))),
  });
  const actions = {
    in: () => zoomTime(1.5), out: () => zoomTime(1 / 1.5), left: () => pan(-0.3, 0),
    right: () => pan(0.3, 0), taller: () => zoomNodes(1.5), flatter: () => zoomNodes(1 / 1.5), reset,
  };
  for (const button of root.querySelectorAll("[data-gantt]")) {
    button.addEventListener("click", actions[button.dataset.gantt]);
  }
  return { redraw, show };
};

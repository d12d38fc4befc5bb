// The machine as what it is: cables coloured by load, nodes by the job that is on them.

const makeMachine = (root, common, state) => {
  const canvas = root.querySelector(".views-machine");
  const caption = root.querySelector(".views-machine-caption");
  const slider = root.querySelector(".views-slider");
  const when = root.querySelector(".views-when");
  const without = root.querySelector(".views-without");
  const legend = root.querySelector(".views-legend");
  let places = null;
  let waiting = false;
  let view = { zoom: 1, x: 0, y: 0 }; // how many times larger, and what is cut off left and above
  let onNode = new Int32Array(common.nodes).fill(-1);

  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  // Load of every cable at this snapshot, in ten-thousandths; null where nothing was sent.
  const loads = () => {
    const snapshot = state.shot();
    if (!snapshot || snapshot.loadRow < 0) return null;
    const cables = common.cable_one.length;
    return state.policy[state.metric].subarray(
      snapshot.loadRow * cables, (snapshot.loadRow + 1) * cables);
  };

  // The job on every node: at the snapshot, or at the chosen instant of the schedule.
  const nodesNow = () => {
    const found = new Int32Array(common.nodes).fill(-1);
    const snapshot = state.shot();
    if (snapshot) {
      const { measured_first: first, measured_length: length } = state.policy;
      for (const row of snapshot.rows) {
        for (let k = row.from; k < row.to; k++) found.fill(row.job, first[k], first[k] + length[k]);
      }
      return found;
    }
    for (const job of jobsAt(state.policy, state.instant)) fillFromSchedule(found, job, job);
    return found;
  };
  const fillFromSchedule = (nodes, job, value) => {
    const { pointer, range_first: first, range_length: length } = state.policy;
    for (let k = pointer[job]; k < pointer[job + 1]; k++) {
      nodes.fill(value, first[k], first[k] + length[k]);
    }
  };

  const draw = () => {
    const scale = Math.min(2, devicePixelRatio || 1);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const [wide, high] = [width * view.zoom, height * view.zoom];
    if (!places || places.width !== wide || places.height !== high) {
      places = { ...placesOf(common, wide, high), width: wide, height: high };
    }
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const page = pageColours(root);
    const pen = canvas.getContext("2d");
    pen.fillStyle = css(page.page);
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.scale(scale, scale);
    pen.translate(-view.x, -view.y);
    const load = loads();
    onNode = nodesNow();
    drawCables(pen, page, load);
    drawRouters(pen, page);
    drawNodes(pen, page);
    drawNames(pen, page);
    drawLegend(page, load);
    showCaption(load);
  };

  // Whether a cable has an end, or might have its middle, in what is shown.
  const inView = (a, b) => {
    if (view.zoom === 1) return true;
    const { x, y } = places;
    return Math.max(x[a], x[b]) > view.x - 30 && Math.min(x[a], x[b]) < view.x + canvas.clientWidth + 30
      && Math.max(y[a], y[b]) > view.y - 30 && Math.min(y[a], y[b]) < view.y + canvas.clientHeight + 30;
  };

  const drawCables = (pen, page, load) => {
    const { x, y, bends } = places;
    const cables = common.cable_one.length;
    const most = state.most[state.metric] || 1;
    const thick = Math.min(1, view.zoom * Math.max(0.4, Math.sqrt(900 / cables)));
    const many = Math.max(0.2, Math.min(1, 1200 * view.zoom / cables));
    const bin = new Uint8Array(cables); // 0: idle, or nothing known
    for (let i = 0; load && i < cables; i++) {
      if (load[i] > 0) bin[i] = 1 + Math.min(BINS - 1, Math.floor(load[i] / most * BINS));
    }
    for (let level = 0; level <= BINS; level++) {
      pen.beginPath();
      let any = false;
      for (let i = 0; i < cables; i++) {
        if (bin[i] !== level) continue;
        const [a, b] = [common.cable_one[i], common.cable_other[i]];
        if (!inView(a, b)) continue;
        any = true;
        pen.moveTo(x[a], y[a]);
        if (!bends[i]) { pen.lineTo(x[b], y[b]); continue; }
        const long = Math.hypot(x[b] - x[a], y[b] - y[a]);
        const [sx, sy] = [(y[b] - y[a]) / long * bends[i], (x[a] - x[b]) / long * bends[i]];
        pen.quadraticCurveTo((x[a] + x[b]) / 2 + 2 * sx, (y[a] + y[b]) / 2 + 2 * sy, x[b], y[b]);
      }
      if (!any) continue;
      pen.strokeStyle = css(level ? loadColour((level - 0.5) / BINS, page.dark) : page.line);
      pen.lineWidth = level ? thick * (0.8 + 2.2 * level / BINS) : 0.6 * thick;
      // many idle cables, or with little load, are a shade and not a wall
      pen.globalAlpha = many + (1 - many) * level / BINS;
      pen.stroke();
    }
    pen.globalAlpha = 1;
  };

  const drawRouters = (pen, page) => {
    const { x, y, counts, box } = places;
    const rim = box.side >= 3 ? 1.5 : 0.5;
    const bare = Math.max(1, Math.min(3, box.half[0], box.half[1]));
    pen.fillStyle = css(page.soft);
    for (let i = 0; i < x.length; i++) {
      const [w, h] = counts[i] ? [box.half[0] + rim, box.half[1] + rim] : [bare, bare];
      pen.fillRect(x[i] - w, y[i] - h, 2 * w, 2 * h);
    }
  };

  const drawNodes = (pen, page) => {
    const { nodeX, nodeY, box } = places;
    const gap = box.side >= 4 ? 1 : box.side >= 2.5 ? 0.5 : 0;
    const near = state.near();
    const free = css(page.page);
    const dim = new Map(JOBS.map((colour) => [colour, css(mix(page.page, colour, DIM))]));
    const fills = new Map();
    const fillOf = (job) => {
      if (job < 0) return free;
      if (state.job < 0) return css(jobColour(job));
      if (job === state.job) return css(page.ink);
      return near.has(job) ? css(neighbourColour(page, near.get(job))) : dim.get(jobColour(job));
    };
    for (let node = 0; node < common.nodes; node++) {
      const job = onNode[node];
      if (!fills.has(job)) fills.set(job, fillOf(job));
      pen.fillStyle = fills.get(job);
      pen.fillRect(nodeX[node], nodeY[node], box.side - gap, box.side - gap);
    }
    // A job that was not sent here: where it sits in the schedule, as an outline.
    if (state.job < 0 || !state.shot() || state.row()) return;
    const mine = new Uint8Array(common.nodes);
    fillFromSchedule(mine, state.job, 1);
    pen.strokeStyle = css(page.ink);
    pen.lineWidth = Math.min(1.5, box.side / 6);
    for (let node = 0; node < common.nodes; node++) {
      if (mine[node]) pen.strokeRect(nodeX[node], nodeY[node], box.side - gap, box.side - gap);
    }
  };

  // Names of groups, where there is room for them.
  const drawNames = (pen, page) => {
    const groups = common.groups.length;
    if (groups < 2 || groups > 40) return;
    const boxes = common.groups.map(() => [Infinity, Infinity, -Infinity, -Infinity]);
    common.router_group.forEach((group, i) => {
      const edge = boxes[group];
      edge[0] = Math.min(edge[0], places.x[i]);
      edge[1] = Math.min(edge[1], places.y[i]);
      edge[2] = Math.max(edge[2], places.x[i]);
      edge[3] = Math.max(edge[3], places.y[i]);
    });
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.lineWidth = 4;
    pen.strokeStyle = css(page.page);
    pen.fillStyle = css(page.soft);
    const named = [];
    boxes.forEach(([x0, y0, x1, y1], group) => {
      const name = common.groups[group];
      const width = pen.measureText(name).width;
      if (width > 1.6 * places.width / Math.sqrt(groups) || width > (x1 - x0) + 60) return;
      const x = Math.min(places.width - width / 2 - 2, Math.max(width / 2 + 2, (x0 + x1) / 2));
      const [above, below] = [y0 - places.box.half[1] - 5, y1 + places.box.half[1] + 15];
      const outer = (y0 + y1) / 2 < 0.55 * places.height ? [above, below] : [below, above];
      const free = [outer[0], (y0 + y1) / 2 + 4, outer[1]].find((y) => isClear(x, y, width / 2));
      const at = Math.min(places.height - 4, Math.max(12, free ?? outer[0]));
      const apart = ([ox, oy, half]) => Math.abs(ox - x) > half + width / 2 + 4 || Math.abs(oy - at) > 14;
      if (!named.every(apart)) return;
      named.push([x, at, width / 2]);
      pen.strokeText(name, x, at);
      pen.fillText(name, x, at);
    });
  };

  // Whether a name with its middle here is on no router.
  const isClear = (x, y, half) => {
    const [w, h] = [half + places.box.half[0] + 1, places.box.half[1] + 6];
    return y > 10 && y < places.height
      && places.x.every((at, i) => Math.abs(at - x) > w || Math.abs(places.y[i] - y + 4) > h);
  };

  const drawLegend = (page, load) => {
    legend.hidden = !load;
    if (!load) return;
    const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => css(loadColour(share, page.dark)));
    legend.querySelector(".views-scale").style.background =
      `linear-gradient(to right, ${stops.join(", ")})`;
    const words = { busy: "of the time busy", stalled: "of the time stalled: a packet was ready and had no room" };
    legend.querySelector(".views-most").textContent =
      `${percent(state.most[state.metric] / 1e4)} ${words[state.metric]}`;
  };

  const cableTold = (cable) => [common.cable_one[cable], common.cable_other[cable]].map((router) => {
    const group = common.groups.length > 1 ? ` (${common.groups[common.router_group[router]]})` : "";
    return `router ${router}${group}`;
  }).join(" to ");

  const showCaption = (load) => {
    const snapshot = state.shot();
    const { policy, snapshots } = state.policy;
    const used = onNode.reduce((sum, job) => sum + (job >= 0), 0);
    const jobs = new Set(onNode);
    jobs.delete(-1);
    const nodes = `on ${whole(used)} of ${whole(common.nodes)} nodes`;
    if (!snapshot) {
      when.textContent = duration(state.instant * common.unit_s);
      without.textContent = "No packets were sent for this policy, so there is no load of links to "
        + "show: nodes are coloured by the job that runs on them.";
      caption.textContent = `${policy}, after ${duration(state.instant * common.unit_s)}: `
        + `${several(jobs.size, "job")} ${nodes}.`;
    } else {
      const at = snapshot.time === null ? "" : `, after ${duration(snapshot.time)}`;
      when.textContent = `snapshot ${state.snapshot + 1} of ${snapshots.length}${at}`;
      without.textContent = (load ? "" : "Nothing was sent together at this snapshot: there is no "
        + "load to show. ") + (state.policy.same ? "" : "Snapshots are of the schedule with logged "
        + "run times; the chart above has the schedule that followed from what they measured.");
      caption.textContent = `${policy}, snapshot ${state.snapshot + 1} of ${snapshots.length}${at}: `
        + `${several(jobs.size, "job")} of two nodes and more ${nodes}. ${load ? loadTold(load) : ""}`;
    }
    without.hidden = !without.textContent;
    slider.setAttribute("aria-valuetext", when.textContent);
  };

  const loadTold = (load) => {
    if (!load.length) return "";
    const sorted = Float64Array.from(load).sort();
    const busiest = load.indexOf(sorted[sorted.length - 1]);
    const mean = sorted.reduce((a, b) => a + b, 0) / sorted.length;
    const word = state.metric === "busy" ? "busy" : "stalled";
    const tenth = sorted[Math.floor(0.9 * (sorted.length - 1))];
    return `Cables are ${word} ${percent(mean / 1e4)} of the time on average, one in ten more than `
      + `${percent(tenth / 1e4)}; the most: ${cableTold(busiest)}, ${percent(load[busiest] / 1e4)}.`;
  };

  // Larger or smaller about a place of the canvas; the whole machine at least.
  const zoom = (factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) => {
    const next = Math.min(12, Math.max(1, view.zoom * factor));
    const by = next / view.zoom;
    look(next, (view.x + x) * by - x, (view.y + y) * by - y);
  };
  const look = (size, x, y) => {
    const within = (at, length) => Math.min(Math.max(0, at), length * (size - 1));
    view = { zoom: size, x: within(x, canvas.clientWidth), y: within(y, canvas.clientHeight) };
    redraw();
  };
  const pan = (dx, dy) => look(view.zoom, view.x + dx, view.y + dy);

  const jobUnder = (canvasX, canvasY) => {
    const { nodeX, nodeY, box } = places;
    const [px, py] = [canvasX + view.x, canvasY + view.y];
    let found = -1;
    let nearest = Math.max(6, box.side);
    for (let node = 0; node < common.nodes; node++) {
      const far = Math.max(Math.abs(nodeX[node] + box.side / 2 - px),
        Math.abs(nodeY[node] + box.side / 2 - py));
      if (far < nearest) { nearest = far; found = onNode[node]; }
    }
    return found;
  };

  const step = (by) => {
    const jobs = [...new Set(onNode)].filter((job) => job >= 0).sort((a, b) => a - b);
    if (!jobs.length) return;
    const at = jobs.indexOf(state.job);
    const next = at < 0 ? (by > 0 ? 0 : jobs.length - 1) : (at + by + jobs.length) % jobs.length;
    state.set({ job: jobs[next] });
  };
  const slide = (by) => {
    slider.value = Number(slider.value) + by;
    slider.dispatchEvent(new Event("input"));
  };
  onKeys(canvas, {
    ArrowLeft: () => slide(-1), ArrowRight: () => slide(1), n: () => step(1), p: () => step(-1),
    "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5),
    0: () => look(1, 0, 0), Home: () => look(1, 0, 0),
    "Shift+ArrowLeft": () => pan(-80, 0), "Shift+ArrowRight": () => pan(80, 0),
    "Shift+ArrowUp": () => pan(0, -80), "Shift+ArrowDown": () => pan(0, 80),
  });
  handle(canvas, {
    tap: (x, y) => state.set({ job: jobUnder(x, y) }),
    drag: (dx, dy) => pan(-dx, -dy),
    zoom: (factor, x, y) => zoom(factor, x, y),
  });
  const actions = { in: () => zoom(1.5), out: () => zoom(1 / 1.5), reset: () => look(1, 0, 0) };
  for (const button of root.querySelectorAll("[data-machine]")) {
    button.addEventListener("click", actions[button.dataset.machine]);
  }

  // The slider has a policy's snapshots, or instants of its schedule.
  const setSlider = () => {
    const { snapshots } = state.policy;
    slider.max = snapshots.length ? snapshots.length - 1 : 200;
    slider.value = snapshots.length ? state.snapshot : Math.round(state.instant / state.lastEnd * 200);
  };
  slider.addEventListener("input", () => {
    const value = Number(slider.value);
    if (state.policy.snapshots.length) state.set({ snapshot: value });
    else state.set({ instant: value / 200 * state.lastEnd });
  });
  return { redraw, setSlider };
};

// The views of a run: one state, and what is drawn again when a part of it changes.

const rgbOf = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

const start = async (root) => {
  const parts = [...root.querySelectorAll("script[data-part]")];
  const common = await readPart(parts[0]);
  const policies = [];
  // A policy is read when it is first looked at.
  const policyAt = async (index) =>
    policies[index] ??= readPolicy(common, await readPart(parts[index + 1]));
  const first = await policyAt(0);

  const state = {
    policy: first,
    colour: rgbOf(common.colours[0]),
    job: -1,
    snapshot: 0,
    instant: 0,
    metric: "busy",
    lastEnd: common.last_end,
    most: common.most,
    // The snapshot that is shown, the chosen job's row in it, and who slows that job: the part of
    // each over the largest.
    shot: () => state.policy.snapshots[state.snapshot] ?? null,
    row: () => state.shot()?.rows.find((row) => row.job === state.job) ?? null,
    near: () => {
      const others = state.row()?.others ?? [];
      return new Map(others.map(([job, part]) => [job, part / (others[0][1] || 1)]));
    },
  };
  state.instant = state.lastEnd / 2;
  const gantt = makeGantt(root, common, state);
  const machine = makeMachine(root, common, state);
  const panel = makePanel(root, common, state);

  const redraw = () => {
    gantt.redraw();
    machine.redraw();
    panel.drawPanel();
    panel.drawTable();
  };
  state.set = (changes) => {
    Object.assign(state, changes);
    if ("snapshot" in changes || "instant" in changes) machine.setSlider();
    redraw();
  };
  // A job of the schedule: where this snapshot has it not, one that has it is shown, the nearest.
  state.pick = (job) => {
    const having = state.policy.snapshots.flatMap(({ rows }, index) =>
      (rows.some((row) => row.job === job) ? [index] : []));
    const far = (index) => Math.abs(index - state.snapshot);
    const snapshot = having.sort((a, b) => far(a) - far(b))[0] ?? state.snapshot;
    const { start, end, snapshots } = state.policy;
    const runs = start[job] <= state.instant && state.instant < end[job];
    // without snapshots the machine has an instant: one at which the job runs
    const instant = snapshots.length || runs || !(start[job] >= 0)
      ? state.instant : (start[job] + end[job]) / 2;
    state.set({ job, snapshot, instant });
  };
  state.come = () => gantt.show(state.job);
  const choose = async (index) => {
    const policy = await policyAt(index);
    const snapshot = Math.max(0, Math.min(state.snapshot, policy.snapshots.length - 1));
    root.querySelector(".views-load").hidden = !policy.load;
    state.set({ policy, snapshot, colour: rgbOf(common.colours[index]) });
    root.dataset.policy = String(index);
  };

  root.querySelector(".views-policies").append(...common.policies.map((name, index) => {
    const radio = element("input", { type: "radio", name: "views-policy", value: String(index) });
    radio.checked = index === 0;
    radio.addEventListener("change", () => choose(index));
    const dot = element("i", { class: "views-dot" });
    dot.style.background = common.colours[index];
    return element("label", {}, radio, dot, element("span", {}, name));
  }));
  for (const radio of root.querySelectorAll("input[name=views-metric]")) {
    radio.addEventListener("change", () => state.set({ metric: radio.value }));
  }
  const number = root.querySelector(".views-number");
  number.addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = Number(number.elements.job.value);
    const job = common.job_id.indexOf(wanted);
    number.elements.job.setCustomValidity(job < 0 ? `There is no job ${wanted}.` : "");
    if (job < 0) number.elements.job.reportValidity();
    else { state.pick(job); state.come(); }
  });
  number.elements.job.addEventListener("input", () => number.elements.job.setCustomValidity(""));
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.job >= 0) state.set({ job: -1 });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true });
  new ResizeObserver(() => { gantt.redraw(); machine.redraw(); }).observe(root);

  root.querySelector(".views-body").hidden = false;
  root.querySelector(".views-wait").hidden = true;
  await choose(0);
  machine.setSlider();
  root.dataset.ready = "true";
};

for (const root of document.querySelectorAll(".views")) {
  const wait = root.querySelector(".views-wait");
  if (!("DecompressionStream" in window)) {
    wait.textContent = "This browser cannot unpack what the page holds (it has no "
      + "DecompressionStream); one of 2023 or later can.";
    continue;
  }
  start(root).catch((error) => {
    root.dataset.failed = String(error);
    wait.textContent = `The views cannot be drawn: ${error.message}`;
    wait.hidden = false;
  });
}

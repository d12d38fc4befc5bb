// One job as text, and the table of those that were sent together.

const makePanel = (root, common, state) => {
  const panel = root.querySelector(".views-panel");
  const table = root.querySelector(".views-measured");
  let sorting = { column: 3, down: true };

  const jobButton = (job) => element("button", {
    type: "button", class: "views-link", onclick: () => { state.pick(job); state.come(); },
  }, `job ${common.job_id[job]}`);

  const nodesTold = (first, length, from, to) => {
    const ranges = [];
    for (let k = from; k < to; k++) ranges.push([first[k], length[k]]);
    ranges.sort((a, b) => a[0] - b[0]);
    return rangesTold(common.node_names, ranges, 12);
  };

  const fact = (name, ...value) => [element("dt", {}, name), element("dd", {}, ...value)];

  const drawPanel = () => {
    const { job, policy } = state;
    if (job < 0) {
      panel.replaceChildren(element("h4", {}, "No job is chosen"),
        element("p", {}, "Choose one in the chart, on the machine, in the table or by its number: its "
          + "nodes light up, and this panel shows what other jobs cost it and which jobs share its links."));
      return;
    }
    const row = state.row();
    const ran = !Number.isNaN(policy.start[job]);
    const unit = common.unit_s;
    const nodes = nodesTold(
      policy.range_first, policy.range_length, policy.pointer[job], policy.pointer[job + 1]);
    const then = row && !policy.same
      ? nodesTold(policy.measured_first, policy.measured_length, row.from, row.to) : "";
    panel.replaceChildren(
      element("h4", {}, swatch(pageColours(root).ink),
        `Job ${common.job_id[job]} under ${policy.policy}`),
      element("dl", {},
        ...fact("Nodes", `${whole(common.n_nodes[job])}${nodes ? `: ${nodes}` : ""}`),
        ...(then ? fact("At the snapshot", then) : []),
        ...fact("Pattern", common.patterns[common.pattern[job]] ?? "\u2013"),
        ...fact("Wait", ran ? duration(policy.wait[job] * unit) : "never ran"),
        ...fact("Run time", ran ? duration(policy.run[job] * unit) : "\u2013"),
        ...(row ? fact(over(common.baseline), stretchOf(row).toFixed(3)) : [])),
      ...(row ? slowed(row) : unmeasured(job)),
      element("p", {}, element("button", { type: "button", onclick: () => state.set({ job: -1 }) },
        "Clear (Esc)")),
    );
  };

  const over = (baseline) => `Time over ${baseline}`;
  const stretchOf = (row) => (row.baseline > 0 ? row.time / row.baseline : 1);

  const swatch = (colour) => {
    const dot = element("i", { class: "views-dot" });
    dot.style.background = css(colour);
    return dot;
  };

  const slowed = (row) => {
    const page = pageColours(root);
    const took = `Its communication took ${small(row.time)} with all others`;
    const unmeasured = "The cost of other jobs was not measured in this run: keep = \"all\" in [run] sends each "
      + "measured job again in isolation.";
    if (Number.isNaN(row.excess)) {
      return [element("p", { class: "views-unmeasured" }, `${took}. ${unmeasured}`)];
    }
    const both = `${took} and ${small(row.alone)} in an isolated run on the same nodes:`;
    if (row.excess <= 0.00005) return [element("p", {}, `${both} not slowed at this snapshot.`)];
    const found = [element("p", { class: "views-excess" },
      `${both} `, element("strong", {}, `${percent(row.excess)} longer`), ".")];
    if (!row.others.length) {
      return [...found, element("p", {}, state.policy.neighbour.length
        ? "No other job sends over the links that it uses." : unmeasured)];
    }
    // those with the largest parts are kept: what they leave over is that of all others
    const restPart = 1 - row.others.reduce((sum, [, part]) => sum + part, 0);
    return [...found,
      element("p", {}, "Who shares its links: these ", percent(row.excess), ", split by the load "
        + "that others put on the links that it uses, each link counted by what the job itself sends "
        + "there. That is no proof of cause: taken out one by one, the one with the largest part "
        + "was the one that helped most in a third to two thirds of the jobs tried."),
      element("ul", { class: "views-others" },
        ...row.others.map(([job, part]) => element("li", {},
          swatch(neighbourColour(page, part / row.others[0][1])), jobButton(job),
          ` ${percent(row.excess * part)} (${percent(part)} of it)`)),
        restPart > 0.0005 ? element("li", {}, `all others ${percent(row.excess * restPart)}`) : null)];
  };

  const unmeasured = (job) => {
    const { policy } = state;
    if (!policy.snapshots.length) return [];
    const where = policy.snapshots.flatMap(({ rows }, index) =>
      (rows.some((row) => row.job === job) ? [index] : []));
    const others = where.map((index) => element("button", {
      type: "button", class: "views-link", onclick: () => state.set({ snapshot: index }),
    }, `snapshot ${index + 1}`));
    const here = "It was not sent at this snapshot; its nodes in the schedule are outlined. ";
    return [element("p", {}, here, ...(others.length
      ? ["It was at ", ...others.flatMap((button, i) => (i ? [", ", button] : [button])), "."]
      : [common.n_nodes[job] < 2 ? "Jobs of one node send nothing." : "No snapshot has it."]))];
  };

  // every column has one baseline, and names it
  const heads = ["Job", "Nodes", "Pattern", over(common.baseline), over("isolated time on these nodes"),
    "Largest share of that excess"];
  const cells = (row) => [
    common.job_id[row.job], common.n_nodes[row.job], common.patterns[common.pattern[row.job]] ?? "",
    stretchOf(row), 1 + row.excess, row.others.length ? row.others[0][1] : 0,
  ];
  const inOrder = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b || 0);

  const drawTable = () => {
    const snapshot = state.shot();
    table.closest(".views-table").hidden = !snapshot;
    if (!snapshot) return;
    const rows = snapshot.rows.map((row) => [row, cells(row)]);
    const sign = sorting.down ? -1 : 1;
    rows.sort(([, a], [, b]) => sign * inOrder(a[sorting.column], b[sorting.column]));
    table.tHead.rows[0].replaceChildren(...heads.map((name, column) => {
      const order = sorting.down ? "descending" : "ascending";
      const head = element("th", {
        scope: "col", class: column === 2 || column === 5 ? null : "number",
        "aria-sort": column === sorting.column ? order : null,
      }, element("button", { type: "button" }, name));
      head.firstChild.addEventListener("click", () => {
        sorting = { column, down: column === sorting.column ? !sorting.down : column > 2 };
        drawTable();
        table.tHead.rows[0].cells[column].firstChild.focus();
      });
      return head;
    }));
    table.tBodies[0].replaceChildren(...rows.map(([row, values]) => element(
      "tr", { "aria-selected": String(row.job === state.job) },
      element("td", { class: "number" }, jobButton(row.job)),
      element("td", { class: "number" }, whole(values[1])),
      element("td", {}, values[2]),
      element("td", { class: "number" }, values[3].toFixed(3)),
      element("td", { class: "number" }, Number.isNaN(row.excess) ? "\u2013" : values[4].toFixed(3)),
      row.others.length && row.excess > 0.00005
        ? element("td", {}, jobButton(row.others[0][0]), ` ${percent(values[5])}`)
        : element("td", {}, "\u2013"),
    )));
  };
  return { drawPanel, drawTable };
};

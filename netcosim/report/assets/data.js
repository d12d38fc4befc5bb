// Reading: what the page carries in <script type="application/octet-stream">, see columns.py.

const KINDS = {
  u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, i4: Int32Array,
  f4: Float32Array, f8: Float64Array,
};

const inflate = async (text) => {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain).arrayBuffer();
};

// The facts of a part, with its columns as typed arrays beside them.
const readPart = async (element) => {
  const body = await inflate(element.textContent.trim());
  const headBytes = new DataView(body).getUint32(0, true);
  const part = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 4, headBytes)));
  let at = 4 + headBytes;
  for (const [name, kind, length, steps] of part.columns) {
    const bytes = length * KINDS[kind].BYTES_PER_ELEMENT;
    const column = new KINDS[kind](body.slice(at, at + bytes));
    part[name] = steps ? runningSum(column) : column;
    at += bytes;
  }
  return part;
};

const runningSum = (steps) => {
  const sums = new Float64Array(steps.length);
  let sum = 0;
  for (let i = 0; i < steps.length; i++) sums[i] = sum += steps[i];
  return sums;
};

// Where each row's entries begin, from how many it has: one more than there are rows.
const pointers = (counts) => {
  const found = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) found[i + 1] = found[i] + counts[i];
  return found;
};

// How many values of an ascending array are at most x.
const countUpTo = (values, x) => {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1; else high = middle;
  }
  return low;
};

// A policy's schedule, by job index: starts and ends in units of time (NaN: it never ran).
const readPolicy = (common, part) => {
  const jobs = common.submit.length;
  const start = new Float64Array(jobs);
  const end = new Float64Array(jobs);
  const ran = [];
  for (let job = 0; job < jobs; job++) {
    start[job] = part.wait[job] < 0 ? NaN : common.submit[job] + part.wait[job];
    end[job] = start[job] + part.run[job];
    if (part.wait[job] >= 0) ran.push(job);
  }
  const byStart = Uint32Array.from(ran).sort((a, b) => start[a] - start[b]);
  // Of the first k jobs to start, the last end: from where on a stretch of time must be looked at.
  const lastEnd = new Float64Array(byStart.length);
  const starts = new Float64Array(byStart.length);
  let latest = -Infinity;
  byStart.forEach((job, k) => {
    starts[k] = start[job];
    lastEnd[k] = latest = Math.max(latest, end[job]);
  });
  return {
    ...part,
    start, end, byStart, starts, lastEnd,
    pointer: pointers(part.ranges),
    snapshots: part.snapshots.map(([number, time], index) => readSnapshot(part, index, number, time)),
  };
};

// The jobs that were sent together at an instant, with the nodes that they had then.
const readSnapshot = (part, index, number, time) => {
  const rows = [];
  if (part.measured_job) {
    const nodes = part.nodePointer ??= pointers(part.measured_ranges);
    const near = part.neighbourPointer ??= pointers(part.neighbours);
    for (let i = 0; i < part.measured_job.length; i++) {
      if (part.measured_snapshot[i] !== index) continue;
      const others = [];
      for (let k = near[i]; k < near[i + 1]; k++) others.push([part.neighbour[k], part.part[k]]);
      others.sort((a, b) => b[1] - a[1]);
      const alone = part.measured_alone[i];
      rows.push({
        job: part.measured_job[i],
        time: part.measured_time[i],
        baseline: part.measured_baseline[i],
        alone,
        // NaN where the isolated run was not requested
        excess: alone === 0 ? 0 : part.measured_time[i] / alone - 1,
        others,
        from: nodes[i],
        to: nodes[i + 1],
      });
    }
  }
  return { number, time, rows, loadRow: part.load_row[index] };
};

// Calls back for the k-th job to start, of all that run at some time between two.
const eachBetween = (policy, from, to, call) => {
  const last = countUpTo(policy.starts, to);
  for (let k = countUpTo(policy.lastEnd, from); k < last; k++) {
    const job = policy.byStart[k];
    if (policy.end[job] > from) call(job);
  }
};

const jobsAt = (policy, time) => {
  const found = [];
  eachBetween(policy, time, time, (job) => found.push(job));
  return found;
};

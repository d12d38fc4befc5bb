// Where a machine's routers, nodes and cables are in a drawing of a given size.

// The largest box, alike for all routers, that keeps each clear of the others and holds `most`
// nodes as squares: half its width and height, the squares' side and how many are in a row.
const boxFor = (x, y, width, height, most) => {
  const order = Uint32Array.from(x.keys()).sort((a, b) => x[a] - x[b]);
  const spacing = Math.sqrt(width * height / x.length);
  let best = { side: 0, columns: 1, half: [1, 1] };
  for (let step = 0; step < 24; step++) {
    const wide = spacing * 1.2 ** (5 - step); // of a box with its margin
    if (wide < 1) break;
    let high = Math.min(height, 6 * spacing);
    for (let i = 0; i < order.length; i++) {
      for (let j = i + 1; j < order.length; j++) {
        if (x[order[j]] - x[order[i]] >= wide - 1e-6) break;
        high = Math.min(high, Math.abs(y[order[j]] - y[order[i]]));
      }
    }
    if (high < 1) continue;
    const fit = squares(0.86 * wide, 0.86 * high, most);
    if (fit.side > best.side) best = fit;
  }
  return best;
};

// Squares of at most 11 pixels, `count` of them in a box.
const squares = (width, height, count) => {
  let best = { side: 0, columns: 1 };
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const side = Math.min(11, width / columns, height / rows);
    // of two that are as large, the one that is nearer to a square
    if (side > best.side + 1e-9 || (side > best.side - 1e-9 && columns <= rows)) {
      best = { side, columns };
    }
  }
  const rows = Math.ceil(count / best.columns);
  return { ...best, half: [best.columns * best.side / 2, rows * best.side / 2] };
};

// Everything in pixels, with a margin for the boxes at the edges.
const placesOf = (common, width, height) => {
  const routers = common.router_x.length;
  const scaled = (column, length, margin) =>
    Float64Array.from(column, (value) => margin + value / 65535 * (length - 2 * margin));
  const counts = new Uint32Array(routers);
  for (const router of common.node_router) counts[router] += 1;
  const most = counts.reduce((a, b) => Math.max(a, b), 1);
  let margin = 6;
  let x = scaled(common.router_x, width, margin);
  let y = scaled(common.router_y, height, margin);
  const box = boxFor(x, y, width - 12, height - 12, most);
  margin = Math.min(40, 3 + Math.max(...box.half));
  x = scaled(common.router_x, width, margin);
  y = scaled(common.router_y, height, margin);
  const nodes = common.node_router.length;
  const nodeX = new Float64Array(nodes);
  const nodeY = new Float64Array(nodes);
  const filled = new Uint32Array(routers);
  for (let node = 0; node < nodes; node++) {
    const router = common.node_router[node];
    const place = filled[router]++;
    nodeX[node] = x[router] - box.half[0] + (place % box.columns) * box.side;
    nodeY[node] = y[router] - box.half[1] + Math.floor(place / box.columns) * box.side;
  }
  return { x, y, nodeX, nodeY, counts, box, bends: bendsOf(common, x, y) };
};

// How far each cable bends aside: those that would run over other routers of their row or column.
const bendsOf = (common, x, y) => {
  const rows = linesOf(y, x);
  const columns = linesOf(x, y);
  const bends = new Float32Array(common.cable_one.length);
  for (let i = 0; i < bends.length; i++) {
    const [a, b] = [common.cable_one[i], common.cable_other[i]];
    if (passes(rows, y, x, a, b) || passes(columns, x, y, a, b)) {
      bends[i] = Math.min(24, 0.12 * (Math.abs(x[a] - x[b]) + Math.abs(y[a] - y[b])));
    }
  }
  return bends;
};

const lineOf = (value) => Math.round(2 * value);

// Places along each line of routers that share the other coordinate, ascending.
const linesOf = (across, along) => {
  const lines = new Map();
  across.forEach((value, i) => {
    const line = lineOf(value);
    if (!lines.has(line)) lines.set(line, []);
    lines.get(line).push(along[i]);
  });
  for (const places of lines.values()) places.sort((a, b) => a - b);
  return lines;
};

// Whether a router is between two of one line.
const passes = (lines, across, along, a, b) => {
  if (lineOf(across[a]) !== lineOf(across[b])) return false;
  const places = lines.get(lineOf(across[a]));
  const [low, high] = [Math.min(along[a], along[b]), Math.max(along[a], along[b])];
  return (places[countUpTo(places, low + 0.01)] ?? Infinity) < high - 0.01;
};

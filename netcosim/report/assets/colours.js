// Colours: the page's own, those of jobs, and the scale of loads.

// Tints that differ for eyes of all kinds, on white as on black.
const JOBS = [
  [119, 170, 221], [238, 136, 102], [214, 185, 70], [238, 153, 170],
  [86, 190, 230], [68, 187, 153], [170, 187, 51], [176, 148, 210],
];
const NEIGHBOUR = [213, 94, 0];

// Cividis (Nunez, Anderton, Renslow, PLOS ONE 2018): as bright as the value for all eyes.
const CIVIDIS = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120],
  [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56],
];
const BINS = 16;
const DIM = 0.35; // of the colour of jobs that have nothing to do with the chosen one

// Of a job that slows the chosen one: the larger its part (1 for the largest), the stronger.
const neighbourColour = (page, part) => mix(page.page, NEIGHBOUR, 0.3 + 0.7 * part);

const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
const mix = (a, b, share) => a.map((value, i) => Math.round(value + (b[i] - value) * share));
const jobColour = (job) => JOBS[(Math.imul(job + 1, 0x9e3779b1) >>> 0) % JOBS.length];

// The page's colours as they are now, in light or dark.
const pageColours = (root) => {
  const probe = element("span", { hidden: "" });
  root.append(probe);
  const read = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  };
  const found = { ink: read("--ink"), soft: read("--soft"), page: read("--page"), line: read("--line") };
  probe.remove();
  found.dark = found.page[0] + found.page[1] + found.page[2] < 384;
  return found;
};

// The colour of a load between nothing (0) and the most (1): the more, the further from the page.
const loadColour = (share, dark) => {
  const place = (dark ? 0.12 + 0.88 * share : 0.93 * (1 - share)) * (CIVIDIS.length - 1);
  const low = Math.min(CIVIDIS.length - 2, Math.floor(place));
  return mix(CIVIDIS[low], CIVIDIS[low + 1], place - low);
};

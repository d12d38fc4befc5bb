// Numbers and durations as text, and elements with text that stays text.

const whole = (number) => Math.round(number).toLocaleString("en");

const several = (count, what) => `${whole(count)} ${what}${count === 1 ? "" : "s"}`;

const percent = (share) => {
  const value = 100 * share;
  const digits = Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits).replace("-", "\u2212")}\u00a0%`;
};

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

// "3 d 4 h": the two largest units; below a minute with a decimal or in smaller units.
const duration = (seconds) => {
  if (!(seconds >= 60)) return small(seconds);
  let rest = Math.round(seconds);
  const parts = [];
  for (const [unit, length] of UNITS) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count) parts.push(`${whole(count)}\u00a0${unit}`);
    if (parts.length === 2 || (parts.length && !count)) break;
  }
  return parts.join(" ");
};

const small = (seconds) => {
  if (seconds === 0) return "0\u00a0s";
  for (const [unit, length] of [["s", 1], ["ms", 1e-3], ["\u00b5s", 1e-6]]) {
    if (seconds >= length) return `${Number((seconds / length).toPrecision(3))}\u00a0${unit}`;
  }
  return `${Number((seconds / 1e-9).toPrecision(3))}\u00a0ns`;
};

// A time axis: its unit, and the places of its marks.
const timeMarks = (from, to, most) => {
  const span = to - from;
  const [unit, length] = UNITS.find(([, size]) => span >= 2 * size) ?? ["s", 1];
  const step = niceStep(span / length / most);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const marks = [];
  for (let k = Math.ceil(from / length / step); k * step * length <= to; k++) {
    marks.push([k * step * length, (k * step).toFixed(digits)]);
  }
  return { unit, marks };
};

const niceStep = (least) => {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= least * 0.999);
};

// Nodes as ranges, by name where they have names; at most so many.
const rangesTold = (names, ranges, most) => {
  const name = (node) => names[node] ?? String(node);
  const shown = ranges.slice(0, most).map(([first, length]) =>
    (length === 1 ? name(first) : `${name(first)}\u2013${name(first + length - 1)}`));
  const more = ranges.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${whole(more)} more ranges` : "");
};

// An element with attributes and children; strings become text, never markup.
const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
};

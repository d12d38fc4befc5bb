// Mouse, touch and keys on a canvas.

const onKeys = (canvas, keys) => canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = keys[event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

// What a canvas is to do: `tap(x, y)`, `drag(dx, dy)`, `zoom(factor, x, y, shift)`; any but the
// first may be left out. The wheel zooms once the canvas was clicked, and with Ctrl at any time, so
// that a page can be scrolled past it.
const handle = (canvas, { tap, drag, zoom }) => {
  const fingers = new Map();
  let moved = 0;
  let spread = 0;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const apart = () => {
    const [[ax, ay], [bx, by]] = fingers.values();
    return [Math.hypot(ax - bx, ay - by), (ax + bx) / 2, (ay + by) / 2];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    fingers.set(event.pointerId, place(event));
    canvas.setPointerCapture(event.pointerId);
    if (fingers.size === 1) moved = 0;
    if (fingers.size === 2) [spread] = apart();
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const now = place(event);
    fingers.set(event.pointerId, now);
    moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    if (fingers.size === 1 && drag && moved > 4) drag(now[0] - before[0], now[1] - before[1]);
    if (fingers.size === 2 && zoom) {
      const [far, x, y] = apart();
      if (spread > 0 && far > 0) zoom(far / spread, x, y, false);
      spread = far;
    }
  });
  const lift = (event) => {
    const here = fingers.delete(event.pointerId);
    if (here && event.type === "pointerup" && moved <= 4 && !fingers.size) tap(...place(event));
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  if (!zoom) return;
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    const turn = event.deltaY || event.deltaX; // browsers turn Shift and the wheel sideways
    zoom(Math.exp(-Math.max(-200, Math.min(200, turn)) / 400), ...place(event), event.shiftKey);
  }, { passive: false });
};
